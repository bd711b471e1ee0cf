package core_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

// A source is what resolvers of a test ask: it counts, takes its time, fails.
type source struct {
	mu      sync.Mutex // guards below
	asked   int
	running int
	most    int // that ran at the same time
	takes   time.Duration
	err     error
	crash   any
}

func (s *source) set(takes time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takes, s.err = takes, err
}

func (s *source) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// resolve answers with how often it was asked.
func (s *source) resolve(ctx context.Context) (any, error) {
	s.mu.Lock()
	s.asked++
	s.running++
	s.most = max(s.most, s.running)
	answer, takes, err, crash := s.asked, s.takes, s.err, s.crash
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running--
	}()
	if takes > 0 {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if crash != nil {
		panic(crash)
	}
	return answer, err
}

var errSource = errors.New("the source is down")

// ask is one Remember, whose answer is a number, or 0 and an error.
func (s *source) ask(t *testing.T, r *cache.CacheRepository, opts ...cache.RememberOption) (n int, stale bool, err error) {
	t.Helper()
	v, err := r.Remember(t.Context(), "k", time.Minute, s.resolve, opts...)
	if err != nil {
		return 0, false, err
	}
	if err := v.Decode(&n); err != nil {
		t.Fatal(err)
	}
	return n, v.Stale(), nil
}

func (s *source) want(t *testing.T, r *cache.CacheRepository, want int, wantStale bool, opts ...cache.RememberOption) {
	t.Helper()
	if n, stale, err := s.ask(t, r, opts...); n != want || stale != wantStale || err != nil {
		t.Errorf("Remember: %d, stale %t, %v; want %d, stale %t", n, stale, err, want, wantStale)
	}
}

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

func TestAFailingResolverLeavesTheStaleValue(t *testing.T) {
	for name, opts := range map[string][]cache.RememberOption{
		"in the caller's goroutine": nil,
		"detached":                  {cache.SingleFlight(time.Minute)},
		"under a lock":              {cache.UnderLock(), cache.SingleFlight(time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &source{}
				h := &recordingHook{}
				r := newFake().repository(t, cache.WithHook(h))
				opts := append(opts, cache.StaleFor(time.Hour))
				s.want(t, r, 1, false, opts...)
				s.set(0, errSource)
				time.Sleep(59 * time.Second)
				s.want(t, r, 1, false, opts...)
				time.Sleep(2 * time.Second)
				s.want(t, r, 1, true, opts...)
				if !slices.ContainsFunc(h.all(), func(call string) bool {
					return strings.HasPrefix(call, "stale k") && strings.Contains(call, errSource.Error())
				}) {
					t.Errorf("the hook saw %q", h.all())
				}
				if v, err := r.Get(t.Context(), "k"); v.Found() || err != nil {
					t.Errorf("Get past the TTL: %v, %v", v, err)
				}
				s.set(0, nil)
				s.want(t, r, s.count()+1, false, opts...)
				s.set(0, errSource)
				time.Sleep(time.Hour + time.Minute + time.Second)
				if _, _, err := s.ask(t, r, opts...); !errors.Is(err, errSource) {
					t.Errorf("after StaleFor: %v", err)
				}
			})
		})
	}
}

func TestNotFoundIsAnAnswerAndServesNothingStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		r := newFake().repository(t)
		s.want(t, r, 1, false, cache.StaleFor(time.Hour))
		time.Sleep(2 * time.Minute)
		s.set(0, cache.ErrNotFound)
		if _, _, err := s.ask(t, r, cache.StaleFor(time.Hour)); err != cache.ErrNotFound {
			t.Errorf("Remember: %v", err)
		}
	})
}

func TestTheCallersOwnEndIsNoReasonForAStaleValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		r := newFake().repository(t)
		s.want(t, r, 1, false, cache.StaleFor(time.Hour))
		time.Sleep(2 * time.Minute)
		s.set(time.Minute, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Remember(ctx, "k", time.Minute, s.resolve, cache.StaleFor(time.Hour)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Remember: %v", err)
		}
	})
}

func TestASlowResolverIsServedStaleAndFinishesInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		r := newFake().repository(t)
		opts := []cache.RememberOption{cache.StaleFor(time.Hour), cache.SoftLimit(time.Second), cache.HardLimit(5 * time.Second)}
		s.want(t, r, 1, false, opts...)
		time.Sleep(2 * time.Minute)
		s.set(10*time.Second, nil)
		start := time.Now()
		s.want(t, r, 1, true, opts...)
		if took := time.Since(start); took != time.Second {
			t.Errorf("the stale value came after %v", took)
		}
		s.want(t, r, 1, true, opts...)
		time.Sleep(9 * time.Second)
		synctest.Wait()
		s.want(t, r, 2, false, opts...)
		if s.most != 1 {
			t.Errorf("%d resolvers ran at the same time", s.most)
		}
		if _, err := r.Delete(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		start = time.Now()
		if _, _, err := s.ask(t, r, opts...); !errors.Is(err, cache.ErrResolverTimeout) || time.Since(start) != 5*time.Second {
			t.Errorf("at the hard limit, with nothing stale: %v after %v", err, time.Since(start))
		}
		time.Sleep(6 * time.Second)
		s.want(t, r, 3, false, opts...)
	})
}

func TestAResolverThatFailedIsLeftInPeace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		r := newFake().repository(t)
		opts := []cache.RememberOption{cache.StaleFor(time.Hour), cache.RetryAfter(30 * time.Second)}
		s.want(t, r, 1, false, opts...)
		time.Sleep(2 * time.Minute)
		s.set(0, errSource)
		for range 5 {
			s.want(t, r, 1, true, opts...)
		}
		if s.count() != 2 {
			t.Errorf("a failing resolver was asked %d times, want once", s.count()-1)
		}
		s.set(0, nil)
		time.Sleep(30 * time.Second)
		s.want(t, r, 3, false, opts...)
	})
}

func TestAnAnswerThatNothingIsThereIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{err: cache.ErrNotFound}
		f := newFake()
		r := f.repository(t)
		negative := cache.NegativeTTL(10 * time.Second)
		for range 3 {
			if _, _, err := s.ask(t, r, negative); !errors.Is(err, cache.ErrNotFound) {
				t.Errorf("Remember: %v", err)
			}
		}
		if _, err := cache.Of[int](r).Remember(t.Context(), "k", time.Minute, func(context.Context) (int, error) { return 7, nil }, negative); !errors.Is(err, cache.ErrNotFound) {
			t.Errorf("typed: %v", err)
		}
		if s.count() != 1 {
			t.Errorf("the resolver ran %d times, want once", s.count())
		}
		if v, err := r.Get(t.Context(), "k"); v.Found() || err != nil {
			t.Errorf("Get: %v, %v", v, err)
		}
		if got, err := r.GetMany(t.Context(), []string{"k"}); got["k"].Found() || err != nil {
			t.Errorf("GetMany: %v, %v", got, err)
		}
		if err := r.Set(t.Context(), "k", 5, time.Minute); err != nil {
			t.Fatal(err)
		}
		s.want(t, r, 5, false, negative)
		_, _ = r.Delete(t.Context(), "k")
		_, _, _ = s.ask(t, r, negative)
		s.set(0, nil)
		time.Sleep(11 * time.Second)
		s.want(t, r, 3, false, negative)
	})
}

func TestAHitLateInItsTTLIsRefreshedInTheBackground(t *testing.T) {
	for name, test := range map[string]struct {
		option cache.RememberOption
		due    bool
	}{
		"ahead":                  {cache.RefreshAhead(0.8), true},
		"ahead, later":           {cache.RefreshAhead(0.9), false},
		"by chance, eager":       {cache.RefreshByChance(1e12), true},
		"by chance, hardly ever": {cache.RefreshByChance(1e-12), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &source{takes: time.Second}
				r := newFake().repository(t)
				s.want(t, r, 1, false, test.option)
				time.Sleep(50 * time.Second)
				s.set(5*time.Second, nil)
				start := time.Now()
				for range 3 {
					s.want(t, r, 1, false, test.option)
				}
				if took := time.Since(start); took != 0 {
					t.Errorf("the hits took %v", took)
				}
				time.Sleep(6 * time.Second)
				if want := 1 + map[bool]int{true: 1}[test.due]; s.count() != want {
					t.Errorf("the resolver ran %d times, want %d", s.count(), want)
				}
				if v, err := r.Get(t.Context(), "k"); err != nil || test.due != (string(v.Bytes()) == "2") {
					t.Errorf("Get: %s, %v", v.Bytes(), err)
				}
			})
		})
	}
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

func TestALockThatIsNotEnteredLeavesTheStaleValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		r := newFake().repository(t)
		opts := []cache.RememberOption{cache.StaleFor(time.Hour), cache.UnderLock(cache.LockTimeout(time.Second))}
		s.want(t, r, 1, false, opts...)
		time.Sleep(2 * time.Minute)
		leave := hold(t, r.Lock("k"))
		s.want(t, r, 1, true, opts...)
		_ = leave()
		s.want(t, r, 2, false, opts...)
	})
}

func TestTheResolverChoosesTheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type token struct{ Lives time.Duration }
		f := newFake()
		r := f.repository(t)
		view := cache.Of[token](r)
		byToken := cache.TTLFrom(func(v token) time.Duration { return v.Lives })
		get := func(lives time.Duration) (token, error) {
			return view.Remember(t.Context(), "k", time.Hour, func(context.Context) (token, error) { return token{lives}, nil }, byToken)
		}
		if v, err := get(time.Minute); err != nil || v.Lives != time.Minute {
			t.Fatal(v, err)
		}
		if ttl, ok, err := r.TTL(t.Context(), "k"); ttl != time.Minute || !ok || err != nil {
			t.Errorf("TTL: %v, %t, %v", ttl, ok, err)
		}
		time.Sleep(2 * time.Minute)
		for _, lives := range []time.Duration{0, -time.Second} {
			if v, err := get(lives); err != nil || v.Lives != lives {
				t.Errorf("out of date already: %v, %v", v, err)
			}
			if _, ok := f.stored("k"); ok {
				t.Error("what was out of date was stored")
			}
		}
		v, err := r.Remember(t.Context(), "k", time.Hour, constant("no token"), byToken)
		if !errors.Is(err, cache.ErrWrongType) || !v.Found() {
			t.Errorf("another type: %v, %v", v, err)
		}
		if v, err := r.Remember(t.Context(), "n", time.Hour, constant(nil), byToken); err != nil || !v.IsNull() {
			t.Errorf("null: %v, %v", v, err)
		}
	})
}

func TestJitterShortensTheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFake().repository(t)
		seen := map[time.Duration]bool{}
		for _, key := range strings.Split("abcdefghijklmnopqrst", "") {
			if _, err := r.Remember(t.Context(), key, time.Hour, constant(1), cache.TTLJitter(0.25)); err != nil {
				t.Fatal(err)
			}
			ttl, _, err := r.TTL(t.Context(), key)
			if err != nil || ttl <= 45*time.Minute || ttl > time.Hour {
				t.Errorf("TTL: %v, %v", ttl, err)
			}
			seen[ttl] = true
		}
		if len(seen) < 10 {
			t.Errorf("20 keys have %d different TTLs", len(seen))
		}
		if _, err := r.RememberForever(t.Context(), "z", constant(1), cache.TTLJitter(0.25)); err != nil {
			t.Fatal(err)
		}
		if ttl, _, _ := r.TTL(t.Context(), "z"); ttl != cache.Forever {
			t.Errorf("Forever became %v", ttl)
		}
	})
}

func TestForeverNeverGoesStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		r := newFake().repository(t)
		for range 2 {
			v, err := r.RememberForever(t.Context(), "k", s.resolve, cache.StaleFor(time.Hour), cache.RefreshAhead(0.1), cache.RefreshByChance(1e12))
			if err != nil || string(v.Bytes()) != "1" || v.Stale() {
				t.Errorf("Remember: %s, %v", v.Bytes(), err)
			}
			time.Sleep(50 * 365 * 24 * time.Hour)
		}
	})
}

func TestOptionsThatCantBeFollowedAreRefused(t *testing.T) {
	f := newFake()
	r := f.repository(t)
	for name, opts := range map[string][]cache.RememberOption{
		"no limit":           {cache.SingleFlight(0)},
		"a negative TTL":     {cache.NegativeTTL(-1)},
		"no time":            {cache.StaleFor(0)},
		"soft without stale": {cache.SoftLimit(1)},
		"retry without":      {cache.RetryAfter(1)},
		"soft after hard":    {cache.StaleFor(1), cache.SoftLimit(2), cache.HardLimit(1)},
		"fraction 0":         {cache.RefreshAhead(0)},
		"fraction 1":         {cache.RefreshAhead(1)},
		"beta 0":             {cache.RefreshByChance(0)},
		"jitter 1":           {cache.TTLJitter(1)},
	} {
		_, err := r.Remember(t.Context(), "k", time.Minute, constant(1), opts...)
		if !errors.Is(err, cache.ErrInvalidRememberOption) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if calls := f.seen(); calls != nil {
		t.Errorf("it made the calls %v", calls)
	}
}

func TestOptionsKeepWhatRememberPromises(t *testing.T) {
	all := []cache.RememberOption{
		cache.SingleFlight(time.Minute), cache.StaleFor(time.Hour), cache.NegativeTTL(time.Second), cache.RefreshAhead(0.5),
	}
	f := newFake()
	h := &recordingHook{}
	r := f.repository(t, cache.WithHook(h))
	if _, err := r.Remember(t.Context(), "k", 0, constant(1), all...); !errors.Is(err, cache.ErrInvalidTTL) {
		t.Errorf("TTL 0: %v", err)
	}
	if _, err := r.Remember(t.Context(), "", time.Minute, constant(1), all...); !errors.Is(err, cache.ErrInvalidKey) {
		t.Errorf("no key: %v", err)
	}
	if _, err := r.Remember(t.Context(), "k", time.Minute, constant(make(chan int)), all...); !errors.Is(err, cache.ErrWrongType) {
		t.Errorf("what can't be encoded: %v", err)
	}
	f.failing("set", cache.ErrUnavailable)
	if v, err := r.Remember(t.Context(), "k", time.Minute, constant("fresh"), all...); !errors.Is(err, cache.ErrUnavailable) || string(v.Bytes()) != `"fresh"` {
		t.Errorf("a value that can't be stored: %v, %v", v, err)
	}
	f.failing("set", nil)
	f.failing("get", cache.ErrUnavailable)
	if _, err := r.Remember(t.Context(), "k", time.Minute, constant(1), all...); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("an outage: %v", err)
	}
	f.failing("get", nil)
	for i := range 2 {
		if v, err := r.Remember(t.Context(), "null", time.Minute, constant(nil), all...); err != nil || !v.IsNull() {
			t.Errorf("null, %d: %v, %v", i, v, err)
		}
	}
	for _, stored := range []string{`"of another type"`, "not JSON", "null", "\xC1CWR cut", "\xC1CWR\x01\x01 a header of nobody's making"} {
		f.plant("n", stored)
		n, err := cache.Of[int](r).Remember(t.Context(), "n", time.Minute, func(context.Context) (int, error) { return 7, nil }, all...)
		if err != nil || n != 7 {
			t.Errorf("%q: %d, %v", stored, n, err)
		}
		if n, ok, err := cache.Of[int](r).Get(t.Context(), "n"); n != 7 || !ok || err != nil {
			t.Errorf("%q: Get afterwards: %d, %t, %v", stored, n, ok, err)
		}
		hit, err := cache.Of[int](r).Remember(t.Context(), "n", time.Minute, func(context.Context) (int, error) { return 8, nil }, all...)
		if err != nil || hit != 7 {
			t.Errorf("%q: the hit afterwards: %d, %v", stored, hit, err)
		}
	}
}

func TestOtherOperationsOnAValueWithFreshness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		r := newFake().repository(t)
		keep := func() {
			t.Helper()
			if _, err := r.Delete(t.Context(), "k"); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Remember(t.Context(), "k", time.Minute, constant(7), cache.StaleFor(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		keep()
		if n, ok, err := cache.Of[int](r).Get(t.Context(), "k"); n != 7 || !ok || err != nil {
			t.Errorf("Get: %d, %t, %v", n, ok, err)
		}
		if v, err := r.GetMany(t.Context(), []string{"k"}); err != nil || string(v["k"].Bytes()) != "7" {
			t.Errorf("GetMany: %v, %v", v, err)
		}
		if _, err := r.Increment(t.Context(), "k", 1); !errors.Is(err, cache.ErrNotInteger) {
			t.Errorf("Increment: %v", err)
		}
		s.want(t, r, 7, false) // Remember without options
		if v, err := r.Pull(t.Context(), "k"); err != nil || string(v.Bytes()) != "7" {
			t.Errorf("Pull: %v, %v", v, err)
		}
		keep()
		time.Sleep(2 * time.Minute)
		if ok, err := r.Has(t.Context(), "k"); !ok || err != nil {
			t.Errorf("Has, while the value is kept: %t, %v", ok, err)
		}
		if v, err := r.GetMany(t.Context(), []string{"k"}); err != nil || v["k"].Found() {
			t.Errorf("GetMany past the TTL: %v, %v", v, err)
		}
		if v, err := r.Pull(t.Context(), "k"); err != nil || v.Found() {
			t.Errorf("Pull past the TTL: %v, %v", v, err)
		}
		keep()
		time.Sleep(2 * time.Minute)
		s.want(t, r, 1, false) // Remember without options computes anew
		if err := r.Set(t.Context(), "k", 8, time.Minute); err != nil {
			t.Fatal(err)
		}
		s.want(t, r, 8, false, cache.StaleFor(time.Hour), cache.RefreshAhead(0.1))
	})
}

func TestBytesThatLookLikeAHeaderAreValuesLikeOthers(t *testing.T) {
	f := newFake()
	r := f.repository(t).WithCodec(cache.Raw)
	const tricky = "\xC1CWR\x01\x02 and so on"
	writes := map[string]func(key string) error{
		"set": func(key string) error { return r.Set(t.Context(), key, tricky, time.Minute) },
		"many": func(key string) error {
			return r.SetMany(t.Context(), map[string]any{key: tricky}, time.Minute)
		},
		"add": func(key string) error { _, err := r.Add(t.Context(), key, tricky, time.Minute); return err },
		"remember": func(key string) error {
			_, err := r.Remember(t.Context(), key, time.Minute, constant(tricky))
			return err
		},
		"options": func(key string) error {
			_, err := r.Remember(t.Context(), key, time.Minute, constant(tricky), cache.SingleFlight(time.Minute))
			return err
		},
		"replace": func(key string) error {
			f.plant(key, "something")
			_, err := r.Replace(t.Context(), key, tricky, time.Minute)
			return err
		},
	}
	for key, write := range writes {
		if err := write(key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		if got, ok, err := cache.Of[string](r).Get(t.Context(), key); got != tricky || !ok || err != nil {
			t.Errorf("%s: %q, %t, %v", key, got, ok, err)
		}
	}
	f.plant("foreign", tricky)
	if _, err := r.Get(t.Context(), "foreign"); !errors.Is(err, cache.ErrCorrupt) {
		t.Errorf("Get of foreign bytes: %v", err)
	}
	_, err := r.GetMany(t.Context(), []string{"foreign", "set"})
	if batch := new(cache.BatchError); !errors.As(err, &batch) || !errors.Is(batch.Failed["foreign"], cache.ErrCorrupt) || len(batch.Failed) != 1 {
		t.Errorf("GetMany of foreign bytes: %v", err)
	}
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

func TestACallerThatLeavesIsNoFailureToPauseFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		r := newFake().repository(t)
		opts := []cache.RememberOption{cache.StaleFor(time.Hour), cache.RetryAfter(time.Hour)}
		s.want(t, r, 1, false, opts...)
		time.Sleep(2 * time.Minute)
		s.set(time.Second, nil)
		ctx, leave := context.WithTimeout(t.Context(), time.Millisecond)
		defer leave()
		if _, err := r.Remember(ctx, "k", time.Minute, s.resolve, opts...); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Remember: %v", err)
		}
		s.want(t, r, 3, false, opts...)
	})
}

func TestTheStoresJitterShortensFreshnessToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newFake().open(t, cache.Config{Stores: map[string]cache.StoreConfig{"main": {Driver: "fake", DefaultTTL: time.Hour, TTLJitter: 0.5}}})
		r := repository(t, m, "main")
		keys := strings.Split("abcdefghijklmnopqrst", "")
		for _, key := range keys {
			if _, err := r.Remember(t.Context(), key, cache.Forever, constant(1), cache.StaleFor(time.Hour), cache.TTLFrom(func(any) time.Duration { return cache.DefaultTTL })); err != nil {
				t.Fatal(err)
			}
			if ttl, _, err := r.TTL(t.Context(), key); err != nil || ttl < 90*time.Minute || ttl > 2*time.Hour {
				t.Errorf("TTL: %v, %v; want the time it is kept, its jitter once", ttl, err)
			}
		}
		time.Sleep(45 * time.Minute)
		fresh := 0
		values, err := r.GetMany(t.Context(), keys)
		for _, v := range values {
			if v.Found() {
				fresh++
			}
		}
		if err != nil || fresh == 0 || fresh == len(keys) {
			t.Errorf("%d of %d are fresh, %v; want some", fresh, len(keys), err)
		}
	})
}
