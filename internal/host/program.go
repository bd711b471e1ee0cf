package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/cachewright/cachewright/internal/builtin"
	"github.com/cachewright/cachewright/internal/wire"
)

// A program is what a driver process executes.
type program struct {
	path string   // given to exec
	args []string // with argument 0
	file *os.File // the verified file that path refers to, nil without a pin
	real string   // the file's own path, for messages
	env  []string // added to the environment
}

// builtinImport is what an application imports to have the built-in drivers.
const builtinImport = "github.com/cachewright/cachewright/drivers/builtin"

// insideBuiltin is taken before a driver that this process may become removes
// the variable.
var insideBuiltin = os.Getenv(wire.BuiltinKey) != ""

// locate finds the program of a driver and checks its pin. A copy, where one is
// needed, goes into folder. The caller closes the program.
func locate(spec Spec, folder string) (*program, error) {
	if spec.Builtin {
		return locateBuiltin(spec)
	}
	if len(spec.Command) == 0 || spec.Command[0] == "" {
		return nil, errors.New("no command is configured")
	}
	path, err := lookPath(spec.Command[0])
	if err != nil {
		return nil, err
	}
	p := &program{path: path, args: spec.Command, real: path}
	if spec.SHA256 == "" {
		return p, nil
	}
	p.path, p.file, err = verify(path, spec.SHA256, folder)
	return p, err
}

func locateBuiltin(spec Spec) (*program, error) {
	if spec.SHA256 != "" {
		return nil, errors.New("sha256 pins the program of a command; a built-in is this executable itself")
	}
	if _, ok := builtin.Lookup(spec.Name); !ok {
		return nil, notBuiltIn(spec.Name)
	}
	real, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this executable: %w", err)
	}
	return &program{
		path: selfPath(real),
		args: []string{"cachewright-driver-" + spec.Name},
		real: real,
		env:  []string{wire.BuiltinKey + "=" + spec.Name},
	}, nil
}

func notBuiltIn(name string) error {
	names := builtin.Names()
	if len(names) == 0 {
		return fmt.Errorf("this program has no built-in drivers; add `import _ %q` to its main package", builtinImport)
	}
	return fmt.Errorf("no driver %q is built in (there are %s); name its program with run: command",
		name, strings.Join(names, ", "))
}

// lookPath searches PATH for bare names only.
func lookPath(name string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		return name, nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%q is not an executable in PATH; name it with its folder: %w", name, err)
	}
	return path, nil
}

func (p *program) close() {
	if p != nil && p.file != nil {
		_ = p.file.Close() // opened for reading
	}
}

// refuseNested stops a chain of processes without end: the program's own code,
// running in a built-in driver's process before the driver's turn, must not
// start drivers.
func refuseNested() error {
	if insideBuiltin || os.Getenv(wire.BuiltinKey) != "" {
		return errors.New("this process is itself a built-in driver: the program opens its cache while packages initialise; open it in main")
	}
	return nil
}
