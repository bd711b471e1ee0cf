package docs

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"golang.org/x/sys/unix"
)

// A container is the first process of namespaces of its own, whose root folder
// holds a static program and what is written here. The test binary starts itself
// to become that process.
type container struct {
	Root   string
	Mounts []mount
	User   int
	Files  uint64 // limit of descriptors; 0: as it is
	Env    []string
	Args   []string // with the program
}

type mount struct {
	Type   string // "bind": the folder itself again, to change its flags
	Target string // below the root
	Flags  uintptr
	Data   string
}

// containerKey is in the environment of what becomes a container.
const containerKey = "CACHEWRIGHT_DOCS_CONTAINER"

func init() {
	if spec := os.Getenv(containerKey); spec != "" {
		fmt.Fprintln(os.Stderr, "no container:", become(spec))
		os.Exit(99)
	}
}

// become makes this process the container. It returns only if it can't.
func become(spec string) error {
	runtime.LockOSThread()
	var c container
	if err := json.Unmarshal([]byte(spec), &c); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	for _, m := range c.Mounts {
		if err := m.mount(c.Root); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.Type, m.Target, err)
		}
	}
	if err := errors.Join(syscall.Chroot(c.Root), os.Chdir("/")); err != nil {
		return err
	}
	if c.Files > 0 {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: c.Files, Max: c.Files}); err != nil {
			return err
		}
	}
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(0), syscall.Setuid(c.User)); err != nil {
		return err
	}
	return syscall.Exec(c.Args[0], c.Args, c.Env)
}

func (m mount) mount(root string) error {
	target := filepath.Join(root, m.Target)
	if m.Type != "bind" {
		return unix.Mount(m.Type, target, m.Type, m.Flags, m.Data)
	}
	if err := unix.Mount(target, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	return unix.Mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|m.Flags, "")
}

var (
	proc     = mount{Type: "proc", Target: "proc"}
	readOnly = mount{Type: "bind", Target: "/", Flags: unix.MS_RDONLY}
)

func tmpfs(target string, flags uintptr) mount {
	return mount{Type: "tmpfs", Target: target, Flags: flags, Data: "mode=1777"}
}

const randomUser = 54321

// run starts the container and returns what it printed and its exit code.
func (c container) run(t *testing.T) (output string, code int) {
	t.Helper()
	spec, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = []string{containerKey + "=" + string(spec)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	out, err := cmd.CombinedOutput()
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		servertest.NotTested(t, "no container: %v", err)
	}
	if cmd.ProcessState.ExitCode() == 99 {
		servertest.NotTested(t, "no container: %s", out)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// asRoot says that a test takes root.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		servertest.NotTested(t, "it takes root")
	}
}

const memoryDriver = "cachewright-driver-memory"

// programFolder holds the program that the tests share, if one was built.
var programFolder string

// program is the command line as one static file, beside it the memory driver as
// another.
var program = sync.OnceValues(func() (path string, err error) {
	if programFolder, err = os.MkdirTemp("", "cachewright-docs-"); err != nil {
		return "", err
	}
	path = filepath.Join(programFolder, "cachewright")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", programFolder, "../cmd/cachewright", "../drivers/memory/"+memoryDriver)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

func staticProgram(t *testing.T) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMain(m *testing.M) {
	code := m.Run()
	if programFolder != "" {
		_ = os.RemoveAll(programFolder)
	}
	os.Exit(code)
}

// image makes a root folder with nothing in it but the program, configurations
// and empty folders.
func image(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, folder := range []string{"proc", "run", "data", "acme", "dev/shm"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"config.yaml":  "default: file\nstores:\n  file: {driver: file, path: /data/cache}\n  memory: {driver: memory}\n",
		"command.yaml": "default: acme\ndrivers: {acme: {run: command, command: [/acme/driver]}}\nstores: {acme: {driver: acme}}\n",
		"acme/driver":  "#!/no/such/interpreter\n",
		"pinned.yaml":  pinnedConfig(t),
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	place(t, staticProgram(t), filepath.Join(root, "cachewright"))
	place(t, filepath.Join(programFolder, memoryDriver), filepath.Join(root, "memory"))
	return root
}

// pinnedConfig has the memory driver as a command, with its digest.
func pinnedConfig(t *testing.T) string {
	t.Helper()
	staticProgram(t)
	data, err := os.ReadFile(filepath.Join(programFolder, memoryDriver))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("default: m\ndrivers: {memory: {run: command, command: [/memory], sha256: {%s/%s: %x}}}\nstores: {m: {driver: memory}}\n",
		runtime.GOOS, runtime.GOARCH, sha256.Sum256(data))
}

func place(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Link(from, to); err != nil { // another file system
		copyFile(t, from, to)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestContainersAsThePageOnOperationsHasThem(t *testing.T) {
	asRoot(t)
	root, page := image(t), read(t, "operations.md")
	run := tmpfs("run", 0)
	work := []string{"doctor", "--write"} // stores, reads and removes an entry in each store
	set := []string{"set", "a", "1"}
	long := "/run/" + strings.Repeat("x", 70)
	for name, test := range map[string]struct {
		mounts []mount
		env    string
		files  uint64
		args   []string
		code   int
		says   string // in the output, and on the page
	}{
		"scratch":                       {mounts: []mount{run, tmpfs("data", 0)}, env: "XDG_RUNTIME_DIR=/run", args: work},
		"scratch, under a lock":         {mounts: []mount{run, tmpfs("data", 0)}, env: "XDG_RUNTIME_DIR=/run", args: []string{"lock", "k", "--", "/cachewright", "version"}},
		"only /dev/shm":                 {mounts: []mount{tmpfs("dev/shm", unix.MS_NOEXEC), tmpfs("data", 0)}, args: work},
		"a TMPDIR that is not there":    {mounts: []mount{tmpfs("dev/shm", 0), tmpfs("data", 0)}, env: "TMPDIR=/nonexistent", args: work},
		"an empty TMPDIR":               {mounts: []mount{tmpfs("dev/shm", 0), tmpfs("data", 0)}, env: "TMPDIR=", args: work},
		"a relative XDG_RUNTIME_DIR":    {mounts: []mount{tmpfs("dev/shm", 0), tmpfs("data", 0)}, env: "XDG_RUNTIME_DIR=run", args: work},
		"a pinned command":              {mounts: []mount{tmpfs("run", unix.MS_NOEXEC)}, env: "XDG_RUNTIME_DIR=/run", args: []string{"-c", "/pinned.yaml", "doctor", "--write"}},
		"64 descriptors":                {mounts: []mount{run, tmpfs("data", 0)}, env: "XDG_RUNTIME_DIR=/run", files: 64, args: work},
		"12 descriptors":                {mounts: []mount{run, tmpfs("data", 0)}, env: "XDG_RUNTIME_DIR=/run", files: 12, args: set, code: 3, says: "too many open files"},
		"no folder to write to":         {env: "XDG_RUNTIME_DIR=/run", args: set, code: 3, says: "no folder for the driver's socket (set XDG_RUNTIME_DIR or TMPDIR to a short path that is writable)"},
		"a long XDG_RUNTIME_DIR":        {mounts: []mount{run}, env: "XDG_RUNTIME_DIR=" + long, args: set, code: 3, says: "a socket there would have a path of 117 bytes, and the limit is 100"},
		"data that is read-only":        {mounts: []mount{run}, env: "XDG_RUNTIME_DIR=/run", args: set, code: 3, says: "/data/cache/entries/5b/a: unavailable: read-only file system; entries can be read there but not written"},
		"reading data that is so":       {mounts: []mount{run}, env: "XDG_RUNTIME_DIR=/run", args: []string{"get", "a"}, code: 1},
		"data of another user":          {mounts: []mount{run, {Type: "tmpfs", Target: "data", Data: "mode=755"}}, env: "XDG_RUNTIME_DIR=/run", args: set, code: 3, says: "/data/cache/entries/5b/a: unavailable: permission denied; give uid 54321 access to it, or change the option path"},
		"a driver on a noexec file sys": {mounts: []mount{run, {Type: "bind", Target: "acme", Flags: unix.MS_NOEXEC}}, env: "XDG_RUNTIME_DIR=/run", args: []string{"-c", "/command.yaml", "set", "a", "1"}, code: 3, says: "/acme/driver lies on a file system that is mounted noexec; put it elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			c := container{
				Root:   root,
				Mounts: append([]mount{readOnly, proc}, test.mounts...),
				User:   randomUser, Files: test.files,
				Args: append([]string{"/cachewright"}, test.args...),
			}
			if test.env != "" {
				c.Env = []string{test.env}
			}
			output, code := c.run(t)
			if code != test.code || !strings.Contains(output, test.says) {
				t.Errorf("exit code %d, want %d and %q:\n%s", code, test.code, test.says, output)
			}
			if !strings.Contains(page, test.says) {
				t.Errorf("operations.md doesn't say %q", test.says)
			}
		})
	}
}

func TestABuiltInNeedsProcAndACommandDoesNot(t *testing.T) {
	asRoot(t)
	const says = "find this executable: readlink /proc/self/exe: no such file or directory"
	c := container{
		Root:   image(t),
		Mounts: []mount{readOnly, tmpfs("run", 0)},
		User:   randomUser,
		Env:    []string{"XDG_RUNTIME_DIR=/run"},
		Args:   []string{"/cachewright", "-c", "/pinned.yaml", "set", "a", "1"},
	}
	if output, code := c.run(t); code != 0 {
		t.Errorf("a command: exit code %d:\n%s", code, output)
	}
	c.Args = []string{"/cachewright", "-s", "memory", "set", "a", "1"}
	output, code := c.run(t)
	if code != 3 || !strings.Contains(output, says) || !strings.Contains(read(t, "operations.md"), says) {
		t.Errorf("exit code %d, want 3 and %q:\n%s", code, says, output)
	}
}

// An executable that was replaced while it runs goes on, and so do its drivers.
func TestAReplacedProgramStartsItsDriversAgain(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "cachewright")
	copyFile(t, staticProgram(t), path)
	if err := os.WriteFile(filepath.Join(folder, "config.yaml"), []byte("default: m\nstores: {m: {driver: memory}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, "stores", "--watch=100ms")
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first := awaitChild(t, cmd.Process.Pid, 0)
	if err := os.WriteFile(path+".new", []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitChild(t, cmd.Process.Pid, first)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, output.Bytes())
	}
}

// awaitChild waits for a child of a process that is another one than known.
func awaitChild(t *testing.T, parent, known int) int {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range lists {
			data, _ := os.ReadFile(list) // a thread may end meanwhile
			for field := range strings.FieldsSeq(string(data)) {
				if pid, err := strconv.Atoi(field); err == nil && pid != known {
					return pid
				}
			}
		}
	}
	t.Fatalf("process %d has no child beside %d", parent, known)
	return 0
}
