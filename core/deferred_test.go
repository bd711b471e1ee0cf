package core_test

import (
	"context"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

func TestS9ADeferredOpensOnceForAll(t *testing.T) {
	f := newFake()
	var opened atomic.Int32
	d := cache.NewDeferred(func(context.Context) (*cache.CacheManager, error) {
		if opened.Add(1) == 1 {
			return nil, errBlock
		}
		return f.open(t, cache.Config{}), nil
	})
	if _, err := d.Resolve(t.Context()); !errors.Is(err, errBlock) {
		t.Errorf("a failing opener: %v", err)
	}
	managers := make([]*cache.CacheManager, 50)
	var wg sync.WaitGroup
	for i := range managers {
		wg.Go(func() {
			m, err := d.Resolve(t.Context())
			if err != nil {
				t.Error(err)
			}
			managers[i] = m
		})
	}
	wg.Wait()
	for _, m := range managers {
		if m != managers[0] {
			t.Fatal("two managers")
		}
	}
	if n := opened.Load(); n != 2 {
		t.Errorf("opened %d times, want one failure and one success", n)
	}
}

func TestADeferredKeepsValuesAndNotCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type mark struct{}
		m := &cache.CacheManager{}
		d := cache.NewDeferred(func(ctx context.Context) (*cache.CacheManager, error) {
			time.Sleep(time.Minute)
			if ctx.Value(mark{}) != "kept" {
				return nil, errors.New("the context lost its values")
			}
			return m, ctx.Err()
		})
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), mark{}, "kept"), time.Second)
		defer cancel()
		if _, err := d.Resolve(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an impatient caller: %v", err)
		}
		if got, err := d.Resolve(t.Context()); got != m || err != nil {
			t.Errorf("a patient caller: %v, %v", got, err)
		}
	})
}

func TestADeferredSurvivesAPanickingOpener(t *testing.T) {
	first := true
	d := cache.NewDeferred(func(context.Context) (*cache.CacheManager, error) {
		if first {
			first = false
			panic("no")
		}
		return &cache.CacheManager{}, nil
	})
	if _, err := d.Resolve(t.Context()); err == nil {
		t.Error("a panic became a success")
	}
	if _, err := d.Resolve(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestADeferredThatOpensNothingIsAnError(t *testing.T) {
	opensNothing := cache.NewDeferred(func(context.Context) (*cache.CacheManager, error) { return nil, nil })
	for name, d := range map[string]*cache.Deferred{"zero": {}, "nil function": cache.NewDeferred(nil), "opens nothing": opensNothing} {
		if m, err := d.Resolve(t.Context()); m != nil || err == nil {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

func TestS10AnUnresolvedFacadeHasNothingToChain(t *testing.T) {
	methods := reflect.TypeFor[*cache.Deferred]()
	if methods.NumMethod() != 1 || methods.Method(0).Name != "Resolve" {
		t.Errorf("Deferred has %d methods, want Resolve alone", methods.NumMethod())
	}
	const chain = `package p
import cache "github.com/cachewright/cachewright/core"
var Cache *cache.Deferred
func f() { Cache.Store("file").Lock("k") }`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "chain.go", chain, 0)
	if err != nil {
		t.Fatal(err)
	}
	var first error
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", exported(t)), Error: func(err error) {
		if first == nil {
			first = err
		}
	}}
	_, _ = conf.Check("p", fset, []*ast.File{file}, nil)
	if first == nil || first.Error() != "chain.go:4:18: Cache.Store undefined (type *core.Deferred has no field or method Store)" {
		t.Errorf("the chain's first error: %v", first)
	}
}

// exported finds the compiler's export data of this package and what it uses.
func exported(t *testing.T) importer.Lookup {
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
}
