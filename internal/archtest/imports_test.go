package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// systems are those whose files are looked at: a build tag hides no import.
var systems = []string{"linux", "darwin"}

func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	t.Parallel()
	for _, system := range systems {
		pkgs := list(t, "../..", system)
		if len(pkgs) < 10 {
			t.Fatalf("go list finds only %d packages", len(pkgs))
		}
		for _, breach := range breaches(pkgs, rules) {
			t.Errorf("%s: %s", system, breach)
		}
	}
}

func TestModulesUnderExamplesUseThePublicPackagesOnly(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob("../../examples/*/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		for _, breach := range breaches(list(t, filepath.Dir(file), "linux"), []rule{foreign}) {
			t.Error(breach)
		}
	}
}

func TestABreachIsFound(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		pkg  pkg
		want string // empty: none
	}{
		{"wire imports nothing of ours", pkg{path: "internal/wire", imports: []string{"sdk"}}, "import sdk"},
		{"wire has its own packages", pkg{path: "internal/wire", imports: []string{"internal/wire/driverpb"}}, ""},
		{"sdk never imports core", pkg{path: "sdk", imports: []string{"core"}}, "import core"},
		{"sdk does without the host", pkg{path: "sdk", imports: []string{"internal/host"}}, "import internal/host"},
		{"sdk speaks the wire's language", pkg{path: "sdk", imports: []string{"internal/wire/driverpb"}}, ""},
		{"core never imports a driver", pkg{path: "core", imports: []string{"drivers/file"}}, "import drivers/file"},
		{
			"not even inside of core", pkg{path: "core/internal/config", imports: []string{"drivers/builtin"}},
			"import drivers/builtin",
		},
		{"tests of core may", pkg{path: "core", tests: []string{"drivers/builtin"}}, ""},
		{"core doesn't start servers", pkg{path: "core", imports: []string{"internal/servertest"}}, "servertest"},
		{"drivers never import core", pkg{path: "drivers/file", imports: []string{"core"}}, "import core"},
		{
			"nor do their tests", pkg{path: "drivers/file", tests: []string{"core"}},
			"tests of drivers/file must not import core",
		},
		{"drivers never import each other", pkg{path: "drivers/file", imports: []string{"drivers/memory"}}, "drivers/memory"},
		{"a driver's program is the driver", pkg{path: "drivers/file/cachewright-driver-file", imports: []string{"drivers/file", "sdk"}}, ""},
		{
			"and of no other", pkg{path: "drivers/file/cachewright-driver-file", imports: []string{"drivers/memory"}},
			"import drivers/memory",
		},
		{"a driver runs the suite in tests", pkg{path: "drivers/file", tests: []string{"drivers/file", "sdk/drivertest"}}, ""},
		{"but only there", pkg{path: "drivers/file", imports: []string{"sdk/drivertest"}}, "import sdk/drivertest"},
		{"a driver doesn't know the wire", pkg{path: "drivers/file", imports: []string{"internal/wire"}}, "internal/wire"},
		{"the table has all drivers", pkg{path: "drivers/builtin", imports: []string{"drivers/file", "internal/builtin"}}, ""},
		{"cmd uses what is inside", pkg{path: "cmd/cachewright", imports: []string{"core", "internal/host"}}, ""},
		{"the host is not for everybody", pkg{path: "internal/other", imports: []string{"internal/host"}}, "internal/host"},
		{"an application has core", pkg{path: "examples/web", imports: []string{"internal/host"}}, "internal/host"},
		{"a new place needs a rule", pkg{path: "helpers"}, "no rule"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(breaches([]pkg{test.pkg}, rules), "\n")
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("breaches of %+v: %q, want %q", test.pkg, got, test.want)
			}
		})
	}
}

func TestABreachOfAForeignModuleIsFound(t *testing.T) {
	t.Parallel()
	good := pkg{path: "acme", imports: []string{"sdk"}, tests: []string{"acme", "sdk", "sdk/drivertest"}}
	bad := pkg{path: "acme", imports: []string{"sdk", "sdk/drivertest"}, tests: []string{"core"}}
	if got := breaches([]pkg{good}, []rule{foreign}); got != nil {
		t.Error(got)
	}
	if got := breaches([]pkg{bad}, []rule{foreign}); len(got) != 2 {
		t.Errorf("2 breaches, found: %v", got)
	}
}

// lean is which modules a package may bring along.
var (
	protocol = []string{
		"golang.org/x/net", "golang.org/x/sys", "golang.org/x/text",
		"google.golang.org/genproto/googleapis/rpc", "google.golang.org/grpc", "google.golang.org/protobuf",
	}
	processes = []string{ // go-plugin and what it needs
		"github.com/fatih/color", "github.com/golang/protobuf", "github.com/hashicorp/go-hclog",
		"github.com/hashicorp/go-plugin", "github.com/hashicorp/yamux", "github.com/mattn/go-colorable",
		"github.com/mattn/go-isatty", "github.com/oklog/run",
	}
	configuration = []string{ // koanf and what it needs, YAML
		"github.com/go-viper/mapstructure/v2", "github.com/knadh/koanf/maps", "github.com/knadh/koanf/parsers/yaml",
		"github.com/knadh/koanf/providers/confmap", "github.com/knadh/koanf/v2", "github.com/mitchellh/copystructure",
		"github.com/mitchellh/reflectwalk", "go.yaml.in/yaml/v3",
	}
	supervision = []string{"github.com/cenkalti/backoff/v5", "github.com/gofrs/flock"}
)

func TestSdkAndCoreBringFewModulesAlong(t *testing.T) {
	t.Parallel()
	for name, allowed := range map[string][]string{
		"sdk":  protocol,
		"core": slices.Concat(protocol, processes, configuration, supervision),
	} {
		for _, system := range systems {
			needed := modules(t, name, system)
			if !slices.Contains(needed, "google.golang.org/grpc") {
				t.Fatalf("go list says that %s needs only %v", name, needed)
			}
			for _, surplus := range beyond(needed, allowed) {
				t.Errorf("%s brings the module %s along on %s", name, surplus, system)
			}
		}
	}
}

func TestASurplusModuleIsFound(t *testing.T) {
	t.Parallel()
	got := beyond([]string{"google.golang.org/grpc", "example.org/heavy"}, protocol)
	if !slices.Equal(got, []string{"example.org/heavy"}) {
		t.Errorf("surplus: %v", got)
	}
}

func beyond(needed, allowed []string) []string {
	return slices.DeleteFunc(slices.Clone(needed), func(m string) bool { return slices.Contains(allowed, m) })
}

// modules returns the modules of the package's dependencies, without tests.
func modules(t *testing.T, name, system string) []string {
	t.Helper()
	out := goList(t, "../..", system, "-deps", "-f", `{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}`, "./"+name)
	paths := strings.Fields(string(out))
	slices.Sort(paths)
	return slices.Compact(paths)
}

// list returns the packages of the module in dir, and of ours what they import.
func list(t *testing.T, dir, system string) []pkg {
	t.Helper()
	out := goList(t, dir, system, "-tags=soak", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	var pkgs []pkg
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
		}
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, pkg{
			path:    strings.TrimPrefix(p.ImportPath, module),
			imports: ours(p.Imports),
			tests:   ours(p.TestImports, p.XTestImports),
		})
	}
}

func ours(imports ...[]string) []string {
	var paths []string
	for _, path := range slices.Concat(imports...) {
		if relative, ok := strings.CutPrefix(path, module); ok {
			paths = append(paths, relative)
		}
	}
	return paths
}

func goList(t *testing.T, dir, system string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = dir
	if system != runtime.GOOS {
		cmd.Env = append(cmd.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	}
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	return out
}
