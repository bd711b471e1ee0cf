package core_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

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

func TestEachRememberGoesByItsOwnOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		r := newFake().repository(t)
		s.want(t, r, 1, false, cache.StaleFor(time.Hour))
		time.Sleep(2 * time.Minute)
		s.want(t, r, 2, false, cache.SingleFlight(time.Minute)) // which serves nothing past its TTL
		s.set(0, cache.ErrNotFound)
		_, _ = r.Delete(t.Context(), "k")
		_, _, _ = s.ask(t, r, cache.NegativeTTL(time.Hour))
		s.set(0, nil)
		s.want(t, r, 4, false, cache.SingleFlight(time.Minute)) // which asks, whatever another was told
	})
}

func TestHandWrittenRepositoriesGetTheOptions(t *testing.T) {
	type onlyContract struct{ cache.ICacheRepository }
	view := cache.Of[int](onlyContract{newFake().repository(t)})
	for range 2 {
		n, err := view.Remember(t.Context(), "k", time.Minute, func(context.Context) (int, error) { return 7, nil }, cache.StaleFor(time.Hour))
		if n != 7 || err != nil {
			t.Errorf("Remember: %d, %v", n, err)
		}
	}
}

func TestOneLoadForTwoTypesIsAnErrorForTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFake().repository(t)
		go func() {
			_, _ = cache.Of[string](r).Remember(t.Context(), "k", time.Minute, func(context.Context) (string, error) {
				time.Sleep(time.Second)
				return "text", nil
			}, cache.SingleFlight(time.Minute))
		}()
		synctest.Wait()
		n, err := cache.Of[int](r).Remember(t.Context(), "k", time.Minute, func(context.Context) (int, error) { return 7, nil }, cache.SingleFlight(time.Minute))
		if n != 0 || !errors.Is(err, cache.ErrWrongType) {
			t.Errorf("the other type: %d, %v", n, err)
		}
	})
}

func TestWhatIsFoundUnderTheLockWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := with("lease")
		one, other := f.repository(t), f.repository(t)
		s := &source{takes: time.Second, err: cache.ErrNotFound}
		opts := []cache.RememberOption{cache.UnderLock(), cache.NegativeTTL(time.Minute)}
		var wg sync.WaitGroup
		for _, r := range []*cache.CacheRepository{one, other} {
			wg.Go(func() {
				if _, _, err := s.ask(t, r, opts...); !errors.Is(err, cache.ErrNotFound) {
					t.Errorf("Remember: %v", err)
				}
			})
		}
		wg.Wait()
		if s.count() != 1 {
			t.Errorf("the resolver ran %d times, want once", s.count())
		}
	})
}
