package core_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

func TestSingleFlightRunsOneResolver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{takes: 10 * time.Second}
		r := newFake().repository(t)
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond) // half of them come later than the load
				s.want(t, r, 1, false, cache.SingleFlight(time.Minute))
			})
		}
		wg.Wait()
		if s.count() != 1 {
			t.Errorf("the resolver ran %d times, want once", s.count())
		}
	})
}

// lateHook lets a whole load of another caller pass between a read and what
// follows from it.
type lateHook struct {
	passed atomic.Bool
	load   func()
}

func (h *lateHook) Start(ctx context.Context, _ cache.Call) (context.Context, error) { return ctx, nil }

func (h *lateHook) End(_ context.Context, c cache.Call, o cache.Outcome) error {
	if c.Op == cache.OpGet && h.passed.CompareAndSwap(false, true) {
		h.load()
	}
	return o.Err
}

func TestALoadThatEndedSinceTheReadIsNotRepeated(t *testing.T) {
	s, h := &source{}, &lateHook{}
	r := newFake().repository(t, cache.WithHook(h))
	h.load = func() { s.want(t, r, 1, false, cache.SingleFlight(time.Minute)) }
	s.want(t, r, 1, false, cache.SingleFlight(time.Minute))
	if s.count() != 1 {
		t.Errorf("the resolver ran %d times, want once", s.count())
	}
}

func TestADetachedResolverOutlivesAnImpatientCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{takes: 10 * time.Second}
		f := newFake()
		r := f.repository(t)
		type mark struct{}
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), mark{}, "caller's"), time.Second)
		defer cancel()
		_, err := r.Remember(ctx, "k", time.Minute, func(ctx context.Context) (any, error) {
			if ctx.Value(mark{}) != "caller's" {
				t.Error("the resolver lacks the caller's values")
			}
			return s.resolve(ctx)
		}, cache.SingleFlight(time.Minute))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the impatient caller got %v", err)
		}
		s.want(t, r, 1, false, cache.SingleFlight(time.Minute))
		if s.count() != 1 {
			t.Errorf("the resolver ran %d times, want once", s.count())
		}
		if got, _ := f.stored("k"); got != "1" {
			t.Errorf("stored: %q, want the codec's bytes alone", got)
		}
	})
}

func TestADetachedResolverEndsAtItsLimit(t *testing.T) {
	for name, resolve := range map[string]func(context.Context) (any, error){
		"that heeds its context":    func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() },
		"that heeds nothing":        func(context.Context) (any, error) { time.Sleep(time.Hour); return 1, nil },
		"that keeps no error of it": func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, errBlock },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newFake().repository(t)
				start := time.Now()
				_, err := r.Remember(t.Context(), "k", time.Minute, resolve, cache.SingleFlight(10*time.Second))
				if !errors.Is(err, cache.ErrResolverTimeout) || !errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Remember: %v", err)
				}
				if took := time.Since(start); took != 10*time.Second {
					t.Errorf("it took %v", took)
				}
				s := &source{}
				s.want(t, r, 1, false, cache.SingleFlight(10*time.Second))
				time.Sleep(2 * time.Hour) // for the one that heeds nothing
			})
		})
	}
}

func TestADetachedResolversPanicIsEveryCallersPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{takes: time.Second, crash: errSource}
		r := newFake().repository(t)
		var panics atomic.Int64
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				defer func() {
					p, ok := recover().(*cache.ResolverPanic)
					if ok && p.Value == error(errSource) && errors.Is(p, errSource) && strings.Contains(string(p.Stack), "resolve") {
						panics.Add(1)
					}
				}()
				_, err := r.Remember(t.Context(), "k", time.Minute, s.resolve, cache.SingleFlight(time.Minute))
				t.Errorf("Remember returned %v", err)
			})
		}
		wg.Wait()
		if panics.Load() != 3 {
			t.Errorf("%d of 3 callers panicked", panics.Load())
		}
		s.crash = nil
		s.want(t, r, s.count()+1, false, cache.SingleFlight(time.Minute))
	})
}

func TestADetachedResolverThatEndsItsGoroutineIsAnError(t *testing.T) {
	r := newFake().repository(t)
	_, err := r.Remember(t.Context(), "k", time.Minute, func(context.Context) (any, error) { runtime.Goexit(); return 1, nil }, cache.SingleFlight(time.Minute))
	if err == nil || !strings.Contains(err.Error(), "ended its goroutine") {
		t.Errorf("Remember: %v", err)
	}
}

func TestCloseEndsDetachedResolversAndWaitsForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newFake().open(t, cache.Config{})
		var ended atomic.Bool
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			_, err := m.Remember(ctx, "k", time.Minute, func(ctx context.Context) (any, error) {
				<-ctx.Done()
				time.Sleep(time.Second)
				ended.Store(true)
				return nil, ctx.Err()
			}, cache.SingleFlight(time.Hour))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the caller that left got %v", err)
			}
		}()
		synctest.Wait()
		leave()
		synctest.Wait()
		if err := m.Close(context.Background()); err != nil || !ended.Load() {
			t.Errorf("Close: %v; the resolver had ended: %t", err, ended.Load())
		}
	})
}

func TestCloseWaitsForAResolverOnlyAsLongAsItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := newFake().tryOpen(t, cache.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var answer error
		go func() {
			_, answer = m.Remember(t.Context(), "k", time.Minute, func(context.Context) (any, error) { time.Sleep(time.Hour); return 1, nil }, cache.SingleFlight(2*time.Hour))
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := m.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		synctest.Wait()
		if !errors.Is(answer, cache.ErrClosed) {
			t.Errorf("the caller got %v", answer)
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestARefreshUnderALockComputesAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		r := newFake().repository(t)
		opts := []cache.RememberOption{cache.RefreshAhead(0.5), cache.UnderLock(cache.LockTimeout(time.Second))}
		s.want(t, r, 1, false, opts...)
		time.Sleep(40 * time.Second)
		s.want(t, r, 1, false, opts...)
		synctest.Wait()
		s.want(t, r, 2, false, opts...)
	})
}

func TestUnderLockOneResolverRunsForSeveralHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{takes: time.Second}
		f := with("lease")
		one, other := f.repository(t), f.repository(t)
		var wg sync.WaitGroup
		for range 20 {
			for _, r := range []*cache.CacheRepository{one, other} {
				wg.Go(func() {
					s.want(t, r, 1, false, cache.SingleFlight(time.Minute), cache.UnderLock(cache.LockTimeout(30*time.Second)))
				})
			}
		}
		wg.Wait()
		if s.count() != 1 {
			t.Errorf("the resolver ran %d times, want once", s.count())
		}
		if n := len(f.owners); n > 25 {
			t.Errorf("%d attempts to take the lock: each caller seems to have taken part", n)
		}
	})
}

func TestWhatFailsInTheBackgroundIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := &source{}
		r := newFake().repository(t, cache.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		s.want(t, r, 1, false, cache.RefreshAhead(0.5))
		time.Sleep(40 * time.Second)
		s.set(0, errSource)
		s.want(t, r, 1, false, cache.RefreshAhead(0.5))
		synctest.Wait()
		if !strings.Contains(log.String(), "not loaded in the background") || !strings.Contains(log.String(), errSource.Error()) {
			t.Errorf("the log of a failure: %s", log.String())
		}
		log.Reset()
		s.crash = "secret"
		s.want(t, r, 1, false, cache.RefreshAhead(0.5))
		synctest.Wait()
		if !strings.Contains(log.String(), "panicked") || strings.Contains(log.String(), "secret") {
			t.Errorf("the log of a panic: %s", log.String())
		}
	})
}

// A busyLog asks the cache for something with every line.
type busyLog struct {
	slog.Handler
	ask func() error
}

func (busyLog) Enabled(context.Context, slog.Level) bool { return true }

func (l busyLog) Handle(context.Context, slog.Record) error { return l.ask() }

func TestALogMayUseTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *cache.CacheRepository
		asked := 0
		log := busyLog{slog.DiscardHandler, func() error {
			asked++
			_, err := r.Remember(context.Background(), "where to log", time.Minute, constant("here"), cache.SingleFlight(time.Second))
			return err
		}}
		s := &source{}
		r = newFake().repository(t, cache.WithLogger(slog.New(log)))
		s.want(t, r, 1, false, cache.RefreshAhead(0.5))
		time.Sleep(40 * time.Second)
		s.set(0, errSource)
		s.want(t, r, 1, false, cache.RefreshAhead(0.5))
		synctest.Wait()
		if v, err := r.Get(t.Context(), "where to log"); err != nil || !v.Found() || asked != 1 {
			t.Errorf("the log asked %d times, and has %v, %v", asked, v, err)
		}
	})
}
