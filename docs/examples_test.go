package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Whatever an application or a driver's author can name is named by an example
// or by the package's comment, and so is every method that is called on it.
// Constants of a type are that type's.
func TestEverythingExportedIsShownInAnExample(t *testing.T) {
	for _, folder := range []string{"../core", "../sdk", "../telemetry", "../codecs/msgpack"} {
		exported, shown := lookAt(t, folder)
		if len(exported) == 0 {
			t.Errorf("%s exports nothing", folder)
		}
		for _, name := range exported {
			if last := name[strings.LastIndexByte(name, '.')+1:]; !shown[last] {
				t.Errorf("%s: no example and no package comment mentions %s", folder, name)
			}
		}
	}
}

// lookAt lists what a package exports, and the names that its examples use and
// its comment links to.
func lookAt(t *testing.T, folder string) (exported []string, shown map[string]bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	shown = map[string]bool{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.HasPrefix(filepath.Base(path), "example"):
			selected(file, shown)
		case !strings.HasSuffix(path, "_test.go"):
			linked(file.Doc.Text(), shown)
			exported = append(exported, exportedBy(file)...)
		}
	}
	slices.Sort(exported)
	return exported, shown
}

// selected are the names behind a dot: cache.Open, caches.Close. A method that
// an example declares is shown too, as those of hooks and codecs are.
func selected(file *ast.File, shown map[string]bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			shown[n.Sel.Name] = true
		case *ast.FuncDecl:
			shown[n.Name.Name] = shown[n.Name.Name] || n.Recv != nil
		}
		return true
	})
}

func linked(comment string, shown map[string]bool) {
	for _, m := range regexp.MustCompile(`\[(?:\w+\.)?(\w+)\]`).FindAllStringSubmatch(comment, -1) {
		shown[m[1]] = true
	}
}

// exportedBy leaves out errors, which errors.md has, and the methods that fmt,
// errors and, of a hook, core call.
func exportedBy(file *ast.File) (names []string) {
	called := []string{"Error", "Unwrap", "Is", "String", "GoString", "LogValue", "Timeout", "Start", "End"}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			receiver := receiverOf(decl)
			if decl.Name.IsExported() && ast.IsExported(receiver) && !slices.Contains(called, decl.Name.Name) {
				names = append(names, receiver+"."+decl.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				names = append(names, namesOf(decl.Tok, spec)...)
			}
		}
	}
	return names
}

// receiverOf is the type that a method is of; a function is of "F".
func receiverOf(decl *ast.FuncDecl) string {
	if decl.Recv == nil {
		return "F"
	}
	receiver := decl.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.Ident:
			return r.Name
		default:
			return ""
		}
	}
}

func namesOf(kind token.Token, spec ast.Spec) (names []string) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Name.IsExported() {
			names = append(names, spec.Name.Name)
		}
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			typed := kind == token.CONST && (spec.Type != nil || spec.Values == nil) // nil: as the one before
			if name.IsExported() && !typed && !strings.HasPrefix(name.Name, "Err") {
				names = append(names, name.Name)
			}
		}
	}
	return names
}
