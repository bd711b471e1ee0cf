package drivertest

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// caseTimeout ends the context of a case that hangs.
const caseTimeout = 2 * time.Minute

// Run runs the suite against a driver in every mode, as subtests named
// mode/group/rule. A rule that doesn't bind the store is skipped with the
// reason.
//
// config gives the options of a store. It is called once per case, with the
// case's own t, so that t.TempDir gives every case data of its own; stores
// opened with the same answer must have the same data. It may also return
// options of a server that all cases share: they use keys of their own, except
// for cases that are Alone, and run one after the other.
//
// The mode child starts the test binary again, narrowed to the test that calls
// Run, which serves the driver there instead of testing it: whatever the test
// does before Run happens in that process too.
func Run(t *testing.T, d sdk.Driver, config func(testing.TB) map[string]any) {
	if Child(d); inChild() {
		t.Skip("this process serves another driver")
	}
	past := new(past)
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			here, there := m.launch(t, d), m.launch(t, d)
			for _, c := range Cases() {
				t.Run(c.Name, func(t *testing.T) { c.run(t, here, there, config(t), past) })
			}
		})
	}
}

// RunInBubble runs the suite in this process, each case in a bubble of package
// testing/synctest, where time is fake and no goroutine may outlive its store.
// It is for drivers that wait for nothing outside the process.
func RunInBubble(t *testing.T, d sdk.Driver, config func(testing.TB) map[string]any) {
	past := new(past)
	for _, c := range Cases() {
		t.Run("bubble/"+c.Name, func(t *testing.T) {
			if why := c.excuse(t, direct{d}, config(t)); why != "" {
				t.Skip(why) // a skip in the bubble would not be seen out here
			}
			synctest.Test(t, func(t *testing.T) { c.run(t, direct{d}, direct{d}, config(t), past) })
		})
	}
}

// excuse opens a store only to ask it.
func (c Case) excuse(t testing.TB, p process, options map[string]any) string {
	s, err := p.open(t.Context(), options)
	if err != nil {
		t.Fatalf("open a store: %v", err)
	}
	defer s.Close(t.Context())
	return c.Excuse(s)
}

// run runs the case on a fresh store in process here.
func (c Case) run(out output, here, there process, options map[string]any, past *past) {
	ctx, cancel := context.WithTimeout(out.Context(), caseTimeout)
	defer cancel()
	r := &reporter{output: out, rule: c.Rule, advice: c.Advice, there: there, options: options, past: past}
	r.unique = strings.ToLower(rand.Text()[:12])
	if _, err := r.open(ctx, here); err != nil {
		r.Fatalf("open a store: %v", err)
	}
	if why := c.Excuse(r.Store()); why != "" {
		out.Skip(why)
	}
	c.Run(ctx, r)
}

// An output is what a reporter needs of testing.TB.
type output interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	FailNow()
	Skip(args ...any)
	Cleanup(func())
	Context() context.Context
}

// A reporter is the T of a test.
type reporter struct {
	output
	*past
	rule    string
	advice  string
	unique  string
	options map[string]any
	explain sync.Once

	there process

	mu    sync.Mutex // guards below
	store Store
}

func (r *reporter) Errorf(format string, args ...any) {
	r.Helper()
	r.explain.Do(func() {
		r.Logf("the rule: %s", r.rule)
		if r.advice != "" {
			r.Logf("where it doesn't bind: %s", r.advice)
		}
	})
	r.output.Errorf(format, args...)
}

func (r *reporter) Fatalf(format string, args ...any) {
	r.Helper()
	r.Errorf(format, args...)
	r.FailNow()
}

func (r *reporter) Unique() string { return r.unique }

func (r *reporter) Store() Store {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.store
}

func (r *reporter) Another(ctx context.Context) (Store, error) {
	return r.openIn(ctx, r.there)
}

func (r *reporter) Reopen(ctx context.Context) (Store, error) {
	if err := r.Store().Close(ctx); err != nil {
		return nil, err
	}
	return r.open(ctx, r.there)
}

// open opens the store under test.
func (r *reporter) open(ctx context.Context, p process) (Store, error) {
	s, err := r.openIn(ctx, p)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.store = s
	return s, nil
}

// openIn opens a store that is closed when the test ends.
func (r *reporter) openIn(ctx context.Context, p process) (Store, error) {
	s, err := p.open(ctx, r.options)
	if err != nil {
		return nil, err
	}
	r.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			r.Errorf("close the store after the case: %v", err)
		}
	})
	return s, nil
}

// The past is what earlier cases of a run have found out.
type past struct {
	mu   sync.Mutex // guards below
	vain map[string]bool
}

func (p *past) inVain(what string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.vain[what]
}

func (p *past) waitedInVain(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.vain == nil {
		p.vain = make(map[string]bool)
	}
	p.vain[what] = true
}
