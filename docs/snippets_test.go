package docs

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/jackc/pgx/v5"
)

// Every Go block of every page is compiled: it stands in a source file as it is
// or as the body of a function, or it is an outline whose types are checked.
func TestEveryGoBlockCompiles(t *testing.T) {
	sources := sourcesBelow(t, ".", "../examples", "../core", "../sdk", "../telemetry")
	for _, page := range pages(t) {
		for _, block := range blocks(read(t, page), "go") {
			if strings.Contains(sources, block) || strings.Contains(sources, indented(block)) {
				continue
			}
			if err := checkOutline(block); err != nil {
				t.Errorf("%s has a block that nothing compiles: %v\n%s", page, err, block)
			}
		}
	}
}

func TestAnOutlineThatIsWrongIsFound(t *testing.T) {
	for _, block := range []string{
		"func broken(",
		"var Driver = sdk.Define(\"acme\", \"1.0.0\", open)\n\nfunc open(ctx context.Context, o struct{}) (int, error)\n",
		"func TestX(t *testing.T) { drivertest.Walk(t, Driver) }\n",
	} {
		if err := checkOutline(block); err == nil {
			t.Errorf("nothing is wrong with:\n%s", block)
		}
	}
}

// checkOutline checks the types of declarations whose functions may lack their
// bodies.
func checkOutline(block string) error {
	var source strings.Builder
	source.WriteString("package outline\n")
	for name, path := range map[string]string{
		"context": "context", "testing": "testing", "time": "time",
		"sdk": outlineModule + "sdk", "drivertest": outlineModule + "sdk/drivertest",
	} {
		if strings.Contains(block, name+".") {
			fmt.Fprintf(&source, "import %q\n", path)
		}
	}
	source.WriteString(block)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "outline.go", source.String(), 0)
	if err != nil {
		return err
	}
	given, err := parser.ParseFile(fset, "given.go", givenFor(file), 0)
	if err != nil {
		return err
	}
	exports, err := exportData()
	if err != nil {
		return err
	}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", exports)}
	_, err = config.Check("outline", fset, []*ast.File{file, given}, nil)
	return err
}

// givenFor declares what an outline uses without saying what it is.
func givenFor(outline *ast.File) string {
	given := "package outline\n"
	if outline.Scope.Lookup("Driver") == nil {
		given += fmt.Sprintf("import %q\nvar Driver sdk.Driver\n", outlineModule+"sdk")
	}
	if outline.Scope.Lookup("store") == nil {
		given += "type store struct{}\n"
	}
	return given
}

const outlineModule = "github.com/cachewright/cachewright/"

// exportData finds what the compiler knows of the packages that outlines import.
func exportData() (importer.Lookup, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "testing", outlineModule+"sdk/drivertest")
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		found[path] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(found[path]) }, nil
}

// Every YAML block that has stores opens. Pages on a driver leave out what
// every configuration has.
func TestEveryConfigurationOfAPageOpens(t *testing.T) {
	first := regexp.MustCompile(`(?m)^stores:\s*\n  (\w+):`)
	opened := 0
	for _, page := range pages(t) {
		if page == "configuration.md" {
			continue // a test beside the parser has all of its blocks, those that are wrong too
		}
		for _, block := range blocks(read(t, page), "yaml") {
			if !strings.Contains(block, "stores:") {
				continue
			}
			if name := first.FindStringSubmatch(block); name != nil && !regexp.MustCompile(`(?m)^default:`).MatchString(block) {
				block = "default: " + name[1] + "\n" + block
			}
			if err := opens(t, block); err != nil {
				t.Errorf("%s has a configuration that does not open:\n%v\n%s", page, err, block)
			}
			opened++
		}
	}
	if opened < 10 {
		t.Errorf("found only %d configurations", opened)
	}
}

func opens(t *testing.T, config string) error {
	t.Helper()
	folder := t.TempDir()
	path, key := filepath.Join(folder, "config.yaml"), strings.Repeat("0f", 32)
	for file, text := range map[string]string{path: config, filepath.Join(folder, "cache-key"): key} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CACHE_KEY", key)
	t.Setenv("DB_PASSWORD", "secret")
	m, err := cache.Open(t.Context(), path)
	if err != nil {
		return err
	}
	return m.Close(t.Context())
}

// The blocks of locks.md.

func locked(ctx context.Context, repository cache.Locker, build func(context.Context) error) error {
	err := repository.Lock("report:build", cache.LockTimeout(3*time.Second)).Do(ctx, func(ctx context.Context) error {
		return build(ctx)
	})
	switch {
	case errors.Is(err, cache.ErrLockTimeout): // somebody else is building
	case err != nil: // the store, or build
	}
	return err
}

func fenced(ctx context.Context, db *pgx.Conn, id int, body string) error {
	token, _ := cache.FencingToken(ctx)
	_, err := db.Exec(ctx, `UPDATE report SET body = $1, token = $2 WHERE id = $3 AND token < $2`, body, int64(token), id)
	return err
}

func TestBlocksOfLocksRun(t *testing.T) {
	m := memoryManager(t)
	broken := errors.New("broken")
	if err := locked(t.Context(), m, func(context.Context) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("locked: %v", err)
	}
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	db, err := pgx.Connect(t.Context(), server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	if _, err := db.Exec(t.Context(), `CREATE TABLE report (id int, body text, token bigint); INSERT INTO report VALUES (1, '', 0)`); err != nil {
		t.Fatal(err)
	}
	lock := m.Lock("report", cache.LockStrategy("exclusive"))
	late := make(chan context.Context, 1)
	for _, body := range []string{"first", "second"} {
		err := lock.Do(t.Context(), func(ctx context.Context) error {
			if body == "first" {
				late <- context.WithoutCancel(ctx) // a holder that goes on after it has left
			}
			return fenced(ctx, db, 1, body)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := fenced(<-late, db, 1, "late"); err != nil {
		t.Fatal(err)
	}
	var body string
	if err := db.QueryRow(t.Context(), `SELECT body FROM report`).Scan(&body); body != "second" || err != nil {
		t.Errorf("the row has %q, %v", body, err)
	}
}

// pages are README.md and all that is below docs.
func pages(t *testing.T) []string {
	t.Helper()
	found := []string{"../README.md"}
	for _, pattern := range []string{"*.md", "*/*.md"} {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, matches...)
	}
	return found
}

func sourcesBelow(t *testing.T, folders ...string) string {
	t.Helper()
	var all strings.Builder
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".go" {
				all.WriteString(read(t, path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
