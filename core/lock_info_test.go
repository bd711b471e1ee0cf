package core_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/core/internal/lock"
	"github.com/cachewright/cachewright/internal/inproc"
	"github.com/cachewright/cachewright/sdk"
)

// S38: what a timeout does is one table, and the strategies do what it says.
func TestS38ATimeoutMeansWhatTheTableSays(t *testing.T) {
	minute, none := time.Minute, time.Duration(0)
	for _, strategy := range []string{sdk.StrategyLocal, sdk.StrategyLease, sdk.StrategyRedlock, sdk.StrategyExclusive} {
		m := lock.MeaningOf(strategy)
		for _, timeout := range []*time.Duration{nil, &none, &minute} {
			synctest.Test(t, func(t *testing.T) {
				f := with(strategy)
				r := f.repository(t)
				var opts []cache.LockOption
				if timeout != nil {
					opts = append(opts, cache.LockTimeout(*timeout))
				}
				want := wantedLease(m, timeout)
				err := r.Lock("k", opts...).Do(t.Context(), func(context.Context) error {
					if got := f.leaseOf(strategy, "k"); got != want {
						t.Errorf("%s, timeout %v: the lease is %v, the table says %v", strategy, timeout, got, want)
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				leave := hold(t, r.Lock("k", cache.LockTimeout(10*time.Minute)))
				wantWait(t, r.Lock("k", opts...), m, timeout, strategy)
				_ = leave()
			})
		}
	}
}

func wantedLease(m lock.Meaning, timeout *time.Duration) time.Duration {
	switch {
	case !m.Leases:
		return 0
	case m.Renewed:
		return 30 * time.Second
	case m.TimeoutIsLease && timeout != nil && *timeout > 0:
		return *timeout
	}
	return 10 * time.Second
}

// leaseOf is how long a lock that is held lasts by itself.
func (f *fake) leaseOf(strategy, key string) time.Duration {
	if strategy == sdk.StrategyRedlock {
		f.mu.Lock()
		defer f.mu.Unlock()
		return time.Until(f.entries[key+"-lock"].expires)
	}
	if row, ok := f.row(strategy, key); ok {
		return time.Until(row.expires)
	}
	return 0
}

// wantWait has somebody wait for a lock that stays taken for ten minutes.
func wantWait(t *testing.T, l *cache.CacheLock, m lock.Meaning, timeout *time.Duration, strategy string) {
	t.Helper()
	wait := 5 * time.Minute // for ever, as far as this test looks
	switch {
	case timeout != nil && *timeout > 0:
		wait = *timeout
	case timeout != nil && !m.ZeroIsDefault:
		wait = 0
	case m.Absorbs:
		wait = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	start, ran := time.Now(), false
	err := l.Do(ctx, func(context.Context) error { ran = true; return nil })
	if waited := time.Since(start); waited != wait || ran != m.Absorbs {
		t.Errorf("%s, timeout %v: waited %v, the block ran: %t; the table says %v and %t", strategy, timeout, waited, ran, wait, m.Absorbs)
	}
	unlimited := timeout == nil && !m.Absorbs
	if m.Absorbs && err != nil || !m.Absorbs && unlimited != errors.Is(err, context.DeadlineExceeded) || !m.Absorbs && !unlimited != errors.Is(err, cache.ErrLockTimeout) {
		t.Errorf("%s, timeout %v: %v", strategy, timeout, err)
	}
}

func TestLockInfoIsWhatTheDriverAnnouncedAndTheConfigurationSays(t *testing.T) {
	second := time.Second
	f := newFake()
	f.traits = sdk.Traits{LockStrategy: sdk.StrategyRedlock, LockScope: sdk.ScopeCluster}
	stores := map[string]cache.StoreConfig{
		"plain":     {Driver: "fake"},
		"local":     {Driver: "fake", Lock: cache.LockConfig{Strategy: sdk.StrategyLocal}},
		"lease":     {Driver: "fake", Lock: cache.LockConfig{Strategy: sdk.StrategyLease, Timeout: &second}},
		"exclusive": {Driver: "fake", Lock: cache.LockConfig{Strategy: sdk.StrategyExclusive, Wait: &second}},
	}
	m := f.open(t, cache.Config{Default: "plain", Stores: stores})
	for name, want := range map[string]cache.LockInfo{
		"plain":     {Strategy: "redlock", Scope: "cluster", DefaultLease: "10s", Timeout: "is lease and wait, after which the block runs without the lock; 0 is none"},
		"local":     {Strategy: "local", Scope: "process", Timeout: "limits the wait; 0 is one attempt", OwnerChecked: true},
		"lease":     {Strategy: "lease", Scope: "cluster", DefaultLease: "1s", Timeout: "limits the wait and is the lease; 0 is one attempt", OwnerChecked: true},
		"exclusive": {Strategy: "exclusive", Scope: "cluster", DefaultLease: "30s", Renewed: true, Timeout: "limits the wait; 0 is one attempt", OwnerChecked: true},
	} {
		want.Block = stores[name].Lock
		got, err := repository(t, m, name).LockInfo(t.Context())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
	f.traits.LockStrategy = ""
	if info, err := f.repository(t).LockInfo(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a store that can't lock: %+v, %v", info, err)
	}
}

// What only a driver can tell of a lock block is told with the place where it
// stands.
func TestLockInfoFindsALockBlockThatItsDriverCantCarryOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	text := `default: hasty
stores:
  hasty:
    driver: fake
    lock:
      strategy: exclusive
      lease: 1ms
  unable:
    driver: plain
    lock: {strategy: lease, timeout: 1s}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFake()
	f.traits.ShortestLease = time.Second
	ctx := inproc.With(t.Context(), map[string]sdk.Driver{
		"fake":  f.driver("fake"),
		"plain": sdk.Define("plain", "1", func(context.Context, struct{}) (bareStore, error) { return bareStore{}, nil }),
	})
	m, err := cache.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(context.WithoutCancel(ctx))
	for name, c := range map[string]struct {
		at   string
		kind error
	}{
		"hasty":  {path + ":7: stores.hasty.lock.lease: ", cache.ErrInvalidLockOption},
		"unable": {path + ":10: stores.unable.lock.strategy: ", errors.ErrUnsupported},
	} {
		_, err := repository(t, m, name).LockInfo(ctx)
		if !errors.Is(err, cache.ErrInvalidConfig) || !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.at) {
			t.Errorf("%s: %v; want one at %s", name, err, c.at)
		}
	}
}

// A bareStore has nothing but what every store has.
type bareStore struct{}

func (bareStore) Get(context.Context, string) ([]byte, bool, error)        { return nil, false, nil }
func (bareStore) Set(context.Context, string, []byte, time.Duration) error { return nil }
func (bareStore) Delete(context.Context, string) (bool, error)             { return false, nil }
func (bareStore) Close() error                                             { return nil }
