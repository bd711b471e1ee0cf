package core_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/sdk"
)

var errBlock = errors.New("the block's own error")

func TestS4TheManagersLockIsTheDefaultStores(t *testing.T) {
	stores := map[string]cache.StoreConfig{"one": {Driver: "fake"}, "two": {Driver: "fake"}}
	for _, name := range []string{"one", "two"} {
		m := newFake().open(t, cache.Config{Default: name, Stores: stores})
		leave := hold(t, m.Lock("k"))
		for other := range stores {
			err := repository(t, m, other).Lock("k", cache.LockTimeout(0)).Do(t.Context(), nothing)
			if waits := errors.Is(err, cache.ErrLockTimeout); waits != (other == name) {
				t.Errorf("default %s, lock on %s: %v", name, other, err)
			}
		}
		_ = leave()
	}
}

func TestS6TheTimeoutIsOptional(t *testing.T) {
	var _ func(string, ...cache.LockOption) *cache.CacheLock = (*cache.CacheManager)(nil).Lock
	var _ func(string, ...cache.LockOption) *cache.CacheLock = (*cache.CacheRepository)(nil).Lock
	if err := newFake().repository(t).Lock("k").Do(t.Context(), nothing); err != nil {
		t.Error(err)
	}
}

func TestS7BuildingALockTakesNothing(t *testing.T) {
	f := newFake()
	r := f.repository(t)
	for i := range 1000 {
		r.Lock(fmt.Sprint(i))
	}
	if f.opens > 0 || len(f.seen()) > 0 {
		t.Error("building locks reached the driver")
	}
	if err := r.Lock("1").Do(t.Context(), nothing); err != nil {
		t.Error(err)
	}
}

func TestS8ALockFromTheBackendIsTheSameLock(t *testing.T) {
	m := newFake().open(t, cache.Config{Prefix: "p"})
	r := repository(t, m, "main")
	leave := hold(t, r.Lock("k"))
	same := cache.NewCacheLock(r.LockBackend(), "p:k", cache.LockTimeout(0))
	if err := same.Do(t.Context(), mustNotRun(t)); !errors.Is(err, cache.ErrLockTimeout) {
		t.Errorf("the same physical key: %v, want ErrLockTimeout", err)
	}
	other := cache.NewCacheLock(r.LockBackend(), "k", cache.LockTimeout(0))
	if err := other.Do(t.Context(), nothing); err != nil {
		t.Errorf("the key without the prefix is another lock: %v", err)
	}
	_ = leave()
}

func TestS8AZeroLockFails(t *testing.T) {
	var none *cache.CacheLock
	for name, l := range map[string]*cache.CacheLock{"nil": none, "zero": {}, "without a backend": cache.NewCacheLock(nil, "k")} {
		if err := l.Do(t.Context(), mustNotRun(t)); err == nil {
			t.Errorf("Do on a %s lock gave no error", name)
		}
	}
	if err := newFake().repository(t).Lock("k").Do(t.Context(), nil); err == nil {
		t.Error("Do without a function gave no error")
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[cache.CacheLock]()) {
		if f.IsExported() {
			t.Errorf("CacheLock exports %s", f.Name)
		}
	}
}

func TestS11OnlyTheConcreteTypesLock(t *testing.T) {
	for _, contract := range []reflect.Type{reflect.TypeFor[cache.ICacheManager](), reflect.TypeFor[cache.ICacheRepository]()} {
		if _, ok := contract.MethodByName("Lock"); ok {
			t.Errorf("%s declares Lock", contract)
		}
	}
	m := newFake().open(t, cache.Config{})
	r, err := m.Store("main")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.(cache.Locker); !ok {
		t.Error("a repository that Store handed out is no Locker")
	}
}

func TestS12DoIsAllThatALockHas(t *testing.T) {
	methods := reflect.TypeFor[*cache.CacheLock]()
	if methods.NumMethod() != 1 || methods.Method(0).Name != "Do" {
		t.Errorf("CacheLock has %d methods, the first is %s", methods.NumMethod(), methods.Method(0).Name)
	}
}

func TestS14TheBlockGetsAContextAndNothingElse(t *testing.T) {
	var _ func(*cache.CacheLock, context.Context, func(context.Context) error) error = (*cache.CacheLock).Do
}

func TestS16TheLockIsLeftHoweverTheBlockEnds(t *testing.T) {
	blocks := map[string]func(ctx context.Context, cancel context.CancelFunc) error{
		"nil":       func(context.Context, context.CancelFunc) error { return nil },
		"error":     func(context.Context, context.CancelFunc) error { return errBlock },
		"panic":     func(context.Context, context.CancelFunc) error { panic(errBlock) },
		"goexit":    func(context.Context, context.CancelFunc) error { runtime.Goexit(); return nil },
		"cancelled": func(ctx context.Context, cancel context.CancelFunc) error { cancel(); return ctx.Err() },
	}
	for name, block := range blocks {
		t.Run(name, func(t *testing.T) {
			r := newFake().repository(t)
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				defer func() { _ = recover() }()
				_ = r.Lock("k").Do(ctx, func(ctx context.Context) error { return block(ctx, cancel) })
			})
			wg.Wait()
			if err := r.Lock("k", cache.LockTimeout(0)).Do(t.Context(), nothing); err != nil {
				t.Errorf("the next participant: %v", err)
			}
		})
	}
}

func TestS17LeavingSwallowsNothing(t *testing.T) {
	r := newFake().repository(t)
	if err := r.Lock("k").Do(t.Context(), func(context.Context) error { return errBlock }); err != errBlock {
		t.Errorf("Do returned %v, want the block's error as it is", err)
	}
	func() {
		defer func() {
			if p := recover(); p != errBlock {
				t.Errorf("recovered %v, want the block's panic", p)
			}
			if err := r.Lock("k", cache.LockTimeout(0)).Do(t.Context(), nothing); err != nil {
				t.Errorf("while the panic goes on the lock is free: %v", err)
			}
		}()
		_ = r.Lock("k").Do(t.Context(), func(context.Context) error { panic(errBlock) })
	}()
}

func TestS18AFailedEntryRunsNothing(t *testing.T) {
	f := newFake()
	f.failing("open", errBlock)
	r := f.repository(t)
	if err := r.Lock("k").Do(t.Context(), mustNotRun(t)); err == nil {
		t.Error("a store that does not open let a lock in")
	}
}

func TestS23ALockTimeoutCanBeToldFromOthers(t *testing.T) {
	r := newFake().repository(t)
	leaveOuter, leaveInner := hold(t, r.Lock("outer")), hold(t, r.Lock("inner"))
	outer := r.Lock("outer", cache.LockTimeout(0)).Do(t.Context(), nothing)
	nested := r.Lock("mine").Do(t.Context(), func(ctx context.Context) error {
		return r.Lock("inner", cache.LockTimeout(0)).Do(ctx, nothing)
	})
	for name, err := range map[string]error{"outer": outer, "inner": nested} {
		if !errors.Is(err, cache.ErrLockTimeout) || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), name) {
			t.Errorf("lock %s busy: %v", name, err)
		}
	}
	err := r.Lock("mine").Do(t.Context(), func(context.Context) error { return context.DeadlineExceeded })
	if errors.Is(err, cache.ErrLockTimeout) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the block's own timeout came out as %v", err)
	}
	_, _ = leaveOuter(), leaveInner()
}

func TestS95ADoneContextNeverEnters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFake().repository(t)
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Lock("free").Do(cancelled, mustNotRun(t)); !errors.Is(err, context.Canceled) {
			t.Errorf("a free lock under a done context: %v", err)
		}
		leave := hold(t, r.Lock("k"))
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		for _, opts := range [][]cache.LockOption{nil, {cache.LockTimeout(time.Minute)}} {
			err := r.Lock("k", opts...).Do(ctx, mustNotRun(t))
			if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, cache.ErrLockTimeout) {
				t.Errorf("a deadline that passes while waiting: %v", err)
			}
		}
		_ = leave()
	})
}

func TestS96ACacheLockMayBeShared(t *testing.T) {
	l := newFake().repository(t).Lock("k")
	inside, total := 0, 0
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			_ = l.Do(t.Context(), func(context.Context) error {
				inside++
				if inside != 1 {
					t.Errorf("%d inside at once", inside)
				}
				total++
				inside--
				return nil
			})
		})
	}
	wg.Wait()
	if total != 100 {
		t.Errorf("%d blocks ran, want 100", total)
	}
}

func TestS97ALockIsNotReentrant(t *testing.T) {
	r := newFake().repository(t)
	var escaped context.Context
	err := r.Lock("k").Do(t.Context(), func(ctx context.Context) error {
		escaped = ctx
		if err := r.Lock("k").Do(ctx, mustNotRun(t)); !errors.Is(err, cache.ErrLockReentrant) {
			t.Errorf("nested: %v, want ErrLockReentrant", err)
		}
		done := make(chan error)
		go func() { done <- r.Lock("k").Do(ctx, mustNotRun(t)) }()
		if err := <-done; !errors.Is(err, cache.ErrLockReentrant) {
			t.Errorf("nested in a goroutine: %v, want ErrLockReentrant", err)
		}
		if err := r.Lock("k", cache.LockTimeout(0)).Do(context.Background(), mustNotRun(t)); !errors.Is(err, cache.ErrLockTimeout) {
			t.Errorf("under a foreign context: %v, want ErrLockTimeout", err)
		}
		return r.Lock("other").Do(ctx, func(ctx context.Context) error {
			if err := r.Lock("k").Do(ctx, mustNotRun(t)); !errors.Is(err, cache.ErrLockReentrant) {
				t.Errorf("two levels down: %v, want ErrLockReentrant", err)
			}
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
	if err := r.Lock("k").Do(escaped, nothing); err != nil {
		t.Errorf("the mark outlived its block: %v", err)
	}
}

func TestS98NothingIsReleasedByTheCollector(t *testing.T) {
	f := newFake()
	m := f.open(t, cache.Config{})
	end := make(chan struct{})
	done := make(chan struct{})
	func() {
		l := m.Lock("k")
		inside := make(chan struct{})
		go func() {
			defer close(done)
			_ = l.Do(context.Background(), func(context.Context) error { close(inside); <-end; return nil })
		}()
		<-inside
		m.Lock("never entered")
	}()
	for range 10 {
		runtime.GC()
	}
	if err := m.Lock("k", cache.LockTimeout(0)).Do(t.Context(), mustNotRun(t)); !errors.Is(err, cache.ErrLockTimeout) {
		t.Errorf("after collections: %v, want ErrLockTimeout", err)
	}
	close(end)
	<-done
}

func TestAStoreWithoutLocksNamesTheWayOut(t *testing.T) {
	f := newFake()
	f.traits.LockStrategy = ""
	err := f.repository(t).Lock("k").Do(t.Context(), mustNotRun(t))
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "lock: {strategy: local}") {
		t.Errorf("error %v", err)
	}
	m := f.open(t, cache.Config{Stores: map[string]cache.StoreConfig{
		"main": {Driver: "fake", Lock: cache.LockConfig{Strategy: "local"}},
	}})
	if err := m.Lock("k").Do(t.Context(), nothing); err != nil {
		t.Errorf("with strategy local: %v", err)
	}
}

func TestCloseEndsLockWaitsAndLetsBlocksEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := newFake().tryOpen(t, cache.Config{})
		if err != nil {
			t.Fatal(err)
		}
		leave := hold(t, m.Lock("k"))
		waited, closed := make(chan error, 1), make(chan error, 1)
		go func() { waited <- m.Lock("k").Do(context.Background(), mustNotRun(t)) }()
		synctest.Wait()
		go func() { closed <- m.Close(context.Background()) }()
		if err := <-waited; !errors.Is(err, cache.ErrClosed) {
			t.Errorf("the waiter: %v, want ErrClosed", err)
		}
		synctest.Wait()
		if len(closed) > 0 {
			t.Error("Close returned before the block did")
		}
		if err := leave(); err != nil {
			t.Errorf("the block: %v", err)
		}
		if err := <-closed; err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}

func TestCloseIsBoundedByItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := newFake().tryOpen(t, cache.Config{})
		if err != nil {
			t.Fatal(err)
		}
		leave := hold(t, m.Lock("k"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := m.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v, want context.DeadlineExceeded", err)
		}
		_ = leave()
	})
}

func TestS13OnlyDoTakesAndGivesBack(t *testing.T) {
	for _, strategy := range []string{sdk.StrategyLease, sdk.StrategyExclusive} {
		f := with(strategy)
		r := f.repository(t)
		if err := r.Lock("k").Do(t.Context(), nothing); err != nil {
			t.Fatal(err)
		}
		if calls := f.seen(); times(calls, "acquire") != 1 || times(calls, "release") != 1 {
			t.Errorf("%s: one Do made %v", strategy, calls)
		}
	}
	for _, public := range []reflect.Type{reflect.TypeFor[*cache.CacheManager](), reflect.TypeFor[*cache.CacheRepository](), reflect.TypeFor[*cache.CacheLock](), reflect.TypeFor[*cache.LockBackend]()} {
		for i := range public.NumMethod() {
			name := strings.ToLower(public.Method(i).Name)
			for _, word := range []string{"acquire", "release", "renew", "owner", "force"} {
				if strings.Contains(name, word) {
					t.Errorf("%s has %s", public, public.Method(i).Name)
				}
			}
		}
	}
}

func TestS15TheBlockBeginsWhenEntryIsOver(t *testing.T) {
	for strategy, op := range map[string]string{sdk.StrategyLease: "acquire", sdk.StrategyExclusive: "acquire", sdk.StrategyRedlock: "add"} {
		synctest.Test(t, func(t *testing.T) {
			f := with(strategy)
			r := f.repository(t)
			enter := make(chan struct{})
			f.before = func(called, _ string) {
				if called == op {
					<-enter
				}
			}
			ran := make(chan struct{}, 2)
			done := make(chan error)
			go func() {
				done <- r.Lock("k").Do(t.Context(), func(context.Context) error { ran <- struct{}{}; return nil })
			}()
			synctest.Wait()
			if len(ran) > 0 {
				t.Errorf("%s: the block ran before entry was over", strategy)
			}
			close(enter)
			if err := <-done; err != nil || len(ran) != 1 {
				t.Errorf("%s: the block ran %d times, %v", strategy, len(ran), err)
			}
		})
	}
}
