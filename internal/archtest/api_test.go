package archtest

import (
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
)

// An application and a driver's author meet no type of a library that we may
// want to exchange.
func TestThePublicPackagesShowTypesOfOursOnly(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"core", "sdk", "sdk/drivertest"} {
		scope := load(t, name).Scope()
		for _, object := range scope.Names() {
			if !token.IsExported(object) {
				continue
			}
			for _, stranger := range strangers(scope.Lookup(object)) {
				t.Errorf("%s.%s shows %s", name, object, stranger)
			}
		}
	}
}

func TestAStrangeTypeIsFound(t *testing.T) {
	t.Parallel()
	library := types.NewPackage("example.org/library", "library")
	strange := types.NewNamed(types.NewTypeName(token.NoPos, library, "T", nil), types.NewStruct(nil, nil), nil)
	own := types.NewPackage(module+"core", "core")
	field := types.NewField(token.NoPos, own, "Field", types.NewMap(types.Typ[types.String], types.NewPointer(strange)), false)
	hidden := types.NewField(token.NoPos, own, "field", strange, false)
	for want, fields := range map[int][]*types.Var{0: {hidden}, 1: {field, hidden}} {
		name := types.NewTypeName(token.NoPos, own, "Shown", nil)
		types.NewNamed(name, types.NewStruct(fields, nil), nil)
		if got := strangers(name); len(got) != want {
			t.Errorf("%d strange types in %v, found %v", want, fields, got)
		}
	}
}

// load imports a package of ours from what the compiler exported.
func load(t *testing.T, name string) *types.Package {
	t.Helper()
	exports := make(map[string]string)
	out := goList(t, "../..", runtime.GOOS, "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./"+name)
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	loaded, err := importer.ForCompiler(token.NewFileSet(), "gc", open).Import(module + name)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// strangers returns the named types of others' modules that whoever uses the
// object meets.
func strangers(object types.Object) []string {
	w := walk{seen: make(map[types.Type]bool)}
	w.visit(object.Type())
	return w.found
}

type walk struct {
	seen  map[types.Type]bool
	found []string
}

func (w *walk) visit(t types.Type) {
	if t == nil || w.seen[t] {
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Alias:
		w.visit(types.Unalias(t))
	case *types.Named:
		w.named(t)
	case *types.Signature:
		w.visit(t.Params())
		w.visit(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			w.visit(v.Type())
		}
	case *types.Struct:
		for field := range t.Fields() {
			if field.Exported() {
				w.visit(field.Type())
			}
		}
	case *types.Interface:
		for method := range t.Methods() {
			w.visit(method.Type())
		}
	case *types.Map:
		w.visit(t.Key())
		w.visit(t.Elem())
	case interface{ Elem() types.Type }:
		w.visit(t.Elem())
	}
}

// named looks into types of ours, and no further than the standard library's.
func (w *walk) named(t *types.Named) {
	pkg := t.Obj().Pkg()
	if pkg == nil || !strings.Contains(pkg.Path(), ".") {
		return
	}
	if !strings.HasPrefix(pkg.Path(), module) {
		w.found = append(w.found, t.String())
		return
	}
	w.visit(t.Underlying())
	for method := range t.Methods() {
		if method.Exported() {
			w.visit(method.Type())
		}
	}
	for argument := range t.TypeArgs().Types() {
		w.visit(argument)
	}
}
