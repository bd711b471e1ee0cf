package archtest

import (
	"fmt"
	"slices"
	"strings"
)

const module = "github.com/cachewright/cachewright/"

// A pkg is what go list says of a package, in paths relative to the module.
type pkg struct {
	path    string
	imports []string
	tests   []string // what its test files import
}

// A rule says what a package may import of ours. A pattern that ends in /...
// is a package and all below; "~" in it is what "*" stood for in of.
type rule struct {
	of    string
	may   []string
	tests []string // further ones, for its test files
}

// The first rule whose pattern fits a package is the one for it.
var rules = []rule{
	{of: "internal/wire/...", may: []string{"internal/wire/..."}},
	{of: "internal/lazyctx"},
	{of: "internal/fastplane", may: []string{"internal/lazyctx", "internal/wire"}},
	{of: "sdk", may: []string{"internal/fastplane", "internal/wire/..."}},
	{
		of:  "sdk/drivertest/...",
		may: []string{"sdk", "sdk/drivertest/...", "internal/host/...", "internal/wire/..."},
	},
	{
		of:  "internal/host/...",
		may: []string{"internal/host/...", "internal/builtin", "internal/fastplane", "internal/wire/...", "sdk"},
	},
	{of: "internal/builtin", may: []string{"internal/wire", "sdk"}},
	{of: "internal/inproc", may: []string{"sdk"}},
	{of: "internal/seal", may: []string{"internal/wire"}, tests: []string{"codecs/..."}},
	{of: "internal/bootclock", may: nil},
	{of: "internal/lockwatch", may: nil},
	{of: "internal/servertest", may: nil},
	{of: "internal/archtest", may: nil},
	{
		of: "core/...",
		may: []string{
			"core/...", "internal/bootclock", "internal/builtin", "internal/host/...", "internal/inproc",
			"internal/lazyctx", "internal/lockwatch", "internal/seal", "internal/wire/...", "sdk",
		},
		tests: []string{"codecs/...", "drivers/...", "internal/servertest", "sdk/drivertest"},
	},
	{of: "codecs/all", may: []string{"codecs/..."}, tests: []string{"core"}},
	{of: "codecs/*", may: []string{"core", "internal/seal", "internal/wire"}},
	{of: "drivers/builtin", may: []string{"drivers/...", "internal/builtin", "sdk"}},
	{
		of:    "drivers/*/...",
		may:   []string{"drivers/~/...", "sdk"},
		tests: []string{"internal/servertest", "sdk/drivertest"},
	},
	{
		of:    "cmd/...",
		may:   []string{"cmd/...", "codecs/all", "core", "drivers/builtin", "internal/...", "sdk", "sdk/drivertest"},
		tests: []string{"drivers/..."},
	},
	{of: "internal/demo", may: []string{"core", "drivers/builtin", "telemetry"}},
	{of: "telemetry", may: []string{"core", "internal/wire"}, tests: []string{"internal/builtin", "internal/inproc", "sdk"}},
	{of: "examples/...", may: []string{"cachetest", "codecs/...", "core", "drivers/builtin", "examples/...", "sdk"}},
	{of: "docs/...", tests: []string{"codecs/...", "core", "drivers/...", "internal/...", "sdk", "telemetry"}},
	{of: "cachetest/...", may: []string{"cachetest/...", "core", "internal/inproc", "sdk"}},
	{
		of:    "internal/lockcheck/...",
		may:   []string{"core", "internal/bootclock", "internal/lockwatch"},
		tests: []string{"drivers/...", "internal/builtin", "internal/inproc", "internal/servertest", "sdk"},
	},
	{
		of:    "internal/statements",
		tests: []string{"core", "drivers/...", "internal/builtin", "internal/inproc", "internal/servertest", "internal/wire", "sdk"},
	},
	{of: "internal/...", may: []string{"core", "drivers/builtin", "internal/wire/...", "sdk", "sdk/drivertest"}},
}

// foreign is the rule of examples/driver, a module of its own: what a third
// party can use.
var foreign = rule{of: "...", may: []string{"sdk"}, tests: []string{"sdk/drivertest"}}

// breaches lists every import that no rule allows.
func breaches(pkgs []pkg, rules []rule) []string {
	var found []string
	for _, p := range pkgs {
		i := slices.IndexFunc(rules, func(r rule) bool { return r.fits(p.path) })
		if i < 0 {
			found = append(found, fmt.Sprintf("%s: no rule in internal/archtest says what it may import", p.path))
			continue
		}
		may := rules[i].allowed(p.path)
		for _, imported := range p.imports {
			if !matchesAny(may, imported) {
				found = append(found, fmt.Sprintf("%s must not import %s", p.path, imported))
			}
		}
		may = append(append(may, rules[i].tests...), p.path)
		for _, imported := range p.tests {
			if !matchesAny(may, imported) {
				found = append(found, fmt.Sprintf("tests of %s must not import %s", p.path, imported))
			}
		}
	}
	return found
}

func (r rule) fits(path string) bool {
	_, ok := match(r.of, path)
	return ok
}

// allowed returns the rule's patterns as they are for the package at path.
func (r rule) allowed(path string) []string {
	name, _ := match(r.of, path)
	may := make([]string, len(r.may))
	for i, pattern := range r.may {
		may[i] = strings.ReplaceAll(pattern, "~", name)
	}
	return may
}

func matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		_, ok := match(pattern, path)
		return ok
	})
}

// match returns the element of path that a "*" in pattern stands for.
func match(pattern, path string) (star string, ok bool) {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	for i, element := range want {
		switch {
		case element == "...":
			return star, true
		case i == len(got):
			return "", false
		case element == "*":
			star = got[i]
		case element != got[i]:
			return "", false
		}
	}
	return star, len(want) == len(got)
}
