package statements

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

// A summaries is a service that is given the manager as an interface and knows
// no package variable.
type summaries struct {
	caches  cache.ICacheManager
	resolve func(context.Context) (any, error)
}

// value remembers the summary for a minute, under a lock that the contract does
// not have and the concrete repository has.
func (s summaries) value(ctx context.Context) (v cache.Value, err error) {
	repository, err := s.caches.Store("main")
	if err != nil {
		return v, err
	}
	locker, ok := repository.(cache.Locker)
	if !ok {
		return v, fmt.Errorf("the repository %s, a %T, has no locks", repository.Name(), repository)
	}
	return cache.DoValue(ctx, locker.Lock("summary:build", cache.LockTimeout(hangGuard)), func(ctx context.Context) (cache.Value, error) {
		return repository.Remember(ctx, "summary:value", time.Minute, s.resolve)
	})
}

// doubles of the two contracts, without locks.
type (
	managerDouble    struct{ cache.ICacheManager }
	repositoryDouble struct{ cache.ICacheRepository }
)

func (managerDouble) Store(string) (cache.ICacheRepository, error) { return repositoryDouble{}, nil }
func (repositoryDouble) Name() string                              { return "double" }

func TestS87AndS88AServiceTakesTheManagerAsAnInterface(t *testing.T) {
	t.Parallel()
	var resolved atomic.Int32
	resolve := func(context.Context) (any, error) { resolved.Add(1); return "summary", nil }
	for range 2 { // two managers side by side know nothing of each other
		c := hostConfig(t, "file", cache.LockConfig{})
		c.Stores["main"].Options["path"] = t.TempDir()
		s := summaries{open(t, c), resolve}
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() {
				if v, err := s.value(t.Context()); err != nil || string(v.Bytes()) != `"summary"` {
					t.Errorf("value: %s, %v", v.Bytes(), err)
				}
			})
		}
		callers.Wait()
	}
	if n := resolved.Load(); n != 2 {
		t.Errorf("the resolver ran %d times for two managers with 100 callers each", n)
	}
	_, err := summaries{managerDouble{}, nil}.value(t.Context())
	if err == nil || !strings.Contains(err.Error(), "repositoryDouble, has no locks") || errors.Is(err, cache.ErrLockTimeout) {
		t.Errorf("a double without locks: %v", err)
	}
}
