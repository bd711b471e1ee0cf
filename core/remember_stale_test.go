package core_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

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

// A value that is kept says when its TTL ends, however it was come by.
func TestAValueStoredWithItsFreshnessSaysWhenItsTTLEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFake().repository(t)
		end := time.Now().Add(time.Minute)
		check := func(by string, v cache.Value, err error) {
			t.Helper()
			if due, ok := v.Due(); err != nil || !v.Found() || !ok || due.Before(end) || due.After(end.Add(time.Millisecond)) {
				t.Errorf("%s: due %v, %t, want %v; %v", by, due, ok, end, err)
			}
		}
		remember := func() (cache.Value, error) {
			return r.Remember(t.Context(), "k", time.Minute, constant(1), cache.StaleFor(time.Hour))
		}
		v, err := remember()
		check("resolved", v, err)
		time.Sleep(time.Second)
		v, err = remember()
		check("a hit", v, err)
		v, err = r.Get(t.Context(), "k")
		check("Get", v, err)
		many, err := r.GetMany(t.Context(), []string{"k"})
		check("GetMany", many["k"], err)
		time.Sleep(2 * time.Minute)
		v, err = r.Remember(t.Context(), "k", time.Minute, func(context.Context) (any, error) { return nil, errSource }, cache.StaleFor(time.Hour))
		check("stale", v, err)
		for name, v := range map[string]func() (cache.Value, error){
			"a miss": func() (cache.Value, error) { return r.Get(t.Context(), "k") },
			"a value without": func() (cache.Value, error) {
				return r.Remember(t.Context(), "plain", time.Minute, constant(1), cache.SingleFlight(time.Minute))
			},
			"a value for ever": func() (cache.Value, error) {
				return r.RememberForever(t.Context(), "forever", constant(1), cache.StaleFor(time.Hour))
			},
		} {
			for range 2 {
				v, err := v()
				if due, ok := v.Due(); ok || !due.IsZero() || err != nil {
					t.Errorf("%s: due %v, %t, %v", name, due, ok, err)
				}
			}
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

func TestARefreshThatFailsIsPausedToo(t *testing.T) {
	for name, test := range map[string]struct {
		opts []cache.RememberOption
		want int
	}{
		"by RetryAfter":         {[]cache.RememberOption{cache.RefreshAhead(0.5), cache.RetryAfter(10 * time.Second)}, 2},
		"and by every hit else": {[]cache.RememberOption{cache.RefreshAhead(0.5)}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &source{}
				r := newFake().repository(t, cache.WithLogger(silent))
				s.want(t, r, 1, false, test.opts...)
				time.Sleep(40 * time.Second)
				s.crash = errSource
				for range 3 {
					s.want(t, r, 1, false, test.opts...)
					synctest.Wait()
				}
				if s.count() != test.want {
					t.Errorf("the resolver ran %d times, want %d", s.count(), test.want)
				}
			})
		})
	}
}

// Without a pause every hit would run the resolver again, since nothing has taken
// the place of the value that is due.
func TestARefreshThatPutsNothingInItsPlaceIsPaused(t *testing.T) {
	for name, spoil := range map[string]func(*fake, *source){
		"it can't be stored": func(f *fake, _ *source) { f.failing("set", cache.ErrUnavailable) },
		"it finds nothing":   func(_ *fake, s *source) { s.set(0, cache.ErrNotFound) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, s := newFake(), &source{}
				r := f.repository(t, cache.WithLogger(silent))
				opts := []cache.RememberOption{cache.RefreshAhead(0.5), cache.RetryAfter(10 * time.Second)}
				s.want(t, r, 1, false, opts...)
				time.Sleep(40 * time.Second)
				spoil(f, s)
				for range 5 {
					s.want(t, r, 1, false, opts...)
					synctest.Wait()
				}
				if s.count() != 2 {
					t.Errorf("the resolver ran %d times, want 2", s.count())
				}
			})
		})
	}
}
