package drivertest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// disks are what stores of the reference driver find under a name.
var disks sync.Map

type referenceOptions struct {
	Disk string `option:"disk,required"`
}

// referenceDriver opens references, each varied.
func referenceDriver(vary func(*reference) sdk.Store) sdk.Driver {
	return sdk.Define("reference", "1", func(_ context.Context, o referenceOptions) (sdk.Store, error) {
		d, _ := disks.LoadOrStore(o.Disk, newDisk())
		return vary(newReference(d.(*disk))), nil
	})
}

var reference_ = referenceDriver(func(r *reference) sdk.Store { return r })

func TestReferencePasses(t *testing.T) {
	Run(t, reference_, func(t testing.TB) map[string]any {
		return map[string]any{"disk": fmt.Sprintf("%s %p", t.Name(), t)}
	})
}

func TestCasesAreNamedAndExplained(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range Cases() {
		group, rule, ok := strings.Cut(c.Name, "/")
		if !ok || group == "" || rule == "" || seen[c.Name] {
			t.Errorf("case %q: a name is group/rule, and only once", c.Name)
		}
		if !strings.HasSuffix(c.Rule, ".") || c.Run == nil {
			t.Errorf("case %s: a rule is a sentence, and is run", c.Name)
		}
		seen[c.Name] = true
	}
}

// TestFaultsAreCaught breaks the reference in one way at a time.
func TestFaultsAreCaught(t *testing.T) {
	patience = time.Second
	t.Cleanup(func() { patience = 30 * time.Second })
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			d := referenceDriver(f.vary)
			for _, name := range f.caughtBy {
				said := verdict(t, name, d)
				for range 3 { // a busy machine may let a race or a moment pass
					if len(said) == 0 {
						said = verdict(t, name, d)
					}
				}
				if len(said) == 0 {
					t.Errorf("%s does not notice", name)
					continue
				}
				t.Logf("%s: %s", name, said[min(1, len(said)-1)])
				if !slices.ContainsFunc(said, func(line string) bool { return strings.HasPrefix(line, "the rule: ") }) {
					t.Errorf("%s doesn't say which rule was broken: %q", name, said)
				}
			}
		})
	}
}

func TestUnmetNeedsAreSkipped(t *testing.T) {
	d := referenceDriver(func(r *reference) sdk.Store { return bare{r} })
	var ran, excused int
	for _, c := range Cases() {
		r := record(t, c, d, map[string]any{"disk": t.Name() + c.Name}, new(past))
		if len(r.said) > 0 {
			t.Errorf("%s fails a store of four methods: %q", c.Name, r.said)
		}
		if r.skipped == "" {
			ran++
		} else {
			excused++
		}
	}
	if ran < 25 || excused < 30 {
		t.Errorf("of the cases %d bind a store of four methods and %d don't", ran, excused)
	}
}

// bare is a store of four methods.
type bare struct{ r *reference }

func (b bare) Get(ctx context.Context, key string) ([]byte, bool, error) { return b.r.Get(ctx, key) }
func (b bare) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return b.r.Set(ctx, key, value, ttl)
}
func (b bare) Delete(ctx context.Context, key string) (bool, error) { return b.r.Delete(ctx, key) }
func (b bare) Close() error                                         { return nil }

// verdict runs the named case and returns what it said of the store.
func verdict(t *testing.T, name string, d sdk.Driver) []string {
	t.Helper()
	cases := Cases()
	i := slices.IndexFunc(cases, func(c Case) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no case %s", name)
	}
	r := record(t, cases[i], d, map[string]any{"disk": t.Name() + name}, new(past))
	if r.skipped != "" {
		t.Fatalf("%s is skipped: %s", name, r.skipped)
	}
	return r.said
}

// record runs a case in process and keeps what it says.
func record(t *testing.T, c Case, d sdk.Driver, options map[string]any, past *past) *recording {
	r := &recording{ctx: t.Context()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, f := range slices.Backward(r.cleanups) {
				f()
			}
		}()
		c.run(r, direct{d}, direct{d}, options, past)
	}()
	<-done
	return r
}

// A recording is the output of a case that nobody reads while it runs.
type recording struct {
	ctx context.Context

	mu       sync.Mutex // guards below
	said     []string
	skipped  string
	cleanups []func()
}

func (r *recording) Helper()                  {}
func (r *recording) Context() context.Context { return r.ctx }
func (r *recording) FailNow()                 { runtime.Goexit() }

func (r *recording) Logf(format string, args ...any) {
	if strings.HasPrefix(format, "the rule: ") || strings.HasPrefix(format, "where it doesn't bind: ") {
		r.Errorf(format, args...)
	}
}

func (r *recording) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *recording) Skip(args ...any) {
	r.skipped = fmt.Sprint(args...)
	runtime.Goexit()
}

func (r *recording) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}
