package core_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

func constant(v any) func(context.Context) (any, error) {
	return func(context.Context) (any, error) { return v, nil }
}

func TestS76RememberNeverLocks(t *testing.T) {
	f := newFake()
	r := f.repository(t)
	leave := hold(t, r.Lock("k"))
	if _, err := r.Remember(t.Context(), "k", time.Minute, constant(1)); err != nil {
		t.Error(err)
	}
	if calls := f.seen(); !slices.Equal(calls, []string{"get k", "set k"}) {
		t.Errorf("Remember made %v", calls)
	}
	_ = leave()
}

func TestS77TwoMissesAtOnceRunTwoResolvers(t *testing.T) {
	r := newFake().repository(t)
	var barrier, done sync.WaitGroup
	barrier.Add(2)
	for range 2 {
		done.Go(func() {
			_, err := r.Remember(t.Context(), "k", time.Minute, func(context.Context) (any, error) {
				barrier.Done()
				barrier.Wait() // a hang if the two were made one
				return 1, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
}

func TestS78AndS85TheDoubleCheck(t *testing.T) {
	f := newFake()
	r := f.repository(t)
	var mu sync.Mutex
	resolved := 0
	doubleCheck := func() (cache.Value, error) {
		v, err := r.Get(t.Context(), "k")
		if err != nil || v.Found() {
			return v, err
		}
		err = r.Lock("build", cache.LockTimeout(time.Minute)).Do(t.Context(), func(ctx context.Context) error {
			v, err = r.Remember(ctx, "k", time.Minute, func(context.Context) (any, error) {
				mu.Lock()
				defer mu.Unlock()
				resolved++
				return "built", nil
			})
			return err
		})
		return v, err
	}
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if v, err := doubleCheck(); err != nil || string(v.Bytes()) != `"built"` {
				t.Errorf("got %v, %v", v, err)
			}
		})
	}
	wg.Wait()
	if resolved != 1 {
		t.Errorf("the resolver ran %d times for 200 callers, want once", resolved)
	}
	f.seen()
	if _, err := doubleCheck(); err != nil {
		t.Fatal(err)
	}
	if calls := f.seen(); !slices.Equal(calls, []string{"get k"}) {
		t.Errorf("a hit made %v", calls)
	}
	_, _ = r.Delete(t.Context(), "k")
	f.seen()
	if _, err := doubleCheck(); err != nil {
		t.Fatal(err)
	}
	if calls := f.seen(); !slices.Equal(calls, []string{"get k", "get k", "set k"}) {
		t.Errorf("a miss made %v", calls)
	}
}

func TestS83AStoredNullIsAHit(t *testing.T) {
	r := newFake().repository(t)
	for i := range 2 {
		v, err := r.Remember(t.Context(), "k", time.Minute, func(context.Context) (any, error) {
			if i > 0 {
				t.Error("a stored null was resolved again")
			}
			return nil, nil
		})
		if err != nil || !v.IsNull() {
			t.Errorf("Remember: %v, %v", v, err)
		}
	}
}

func TestS84TheResolverRunsOnTheSpot(t *testing.T) {
	r := newFake().repository(t)
	type mark struct{}
	ctx := context.WithValue(t.Context(), mark{}, "caller's")
	_, err := r.Remember(ctx, "k", time.Minute, func(got context.Context) (any, error) {
		if got != ctx {
			t.Error("the resolver's context is not the caller's")
		}
		frames := make([]uintptr, 100)
		stack := runtime.CallersFrames(frames[:runtime.Callers(0, frames)])
		for {
			frame, more := stack.Next()
			if strings.HasSuffix(frame.Function, t.Name()) {
				return 1, nil
			}
			if !more {
				return nil, errors.New("the caller is not on the resolver's stack")
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAFailingResolverStoresNothing(t *testing.T) {
	f := newFake()
	r := f.repository(t)
	if _, err := r.Remember(t.Context(), "k", time.Minute, func(context.Context) (any, error) { return 1, errBlock }); err != errBlock {
		t.Errorf("Remember: %v, want the resolver's error as it is", err)
	}
	if _, ok := f.stored("k"); ok {
		t.Error("something was stored")
	}
}

func TestAValueThatCantBeStoredComesWithTheError(t *testing.T) {
	f := newFake()
	r := f.repository(t)
	f.failing("set", cache.ErrUnavailable)
	v, err := r.Remember(t.Context(), "k", time.Minute, constant("fresh"))
	if !errors.Is(err, cache.ErrUnavailable) || string(v.Bytes()) != `"fresh"` {
		t.Errorf("Remember: %v, %v", v, err)
	}
	typed, err := cache.Of[string](r).Remember(t.Context(), "k", time.Minute, func(context.Context) (string, error) { return "fresh", nil })
	if !errors.Is(err, cache.ErrUnavailable) || typed != "fresh" {
		t.Errorf("typed: %q, %v", typed, err)
	}
}

func TestRememberComputesAnewWhatItCantUse(t *testing.T) {
	f := newFake()
	h := &recordingHook{}
	r := f.repository(t, cache.WithHook(h))
	f.failing("get", cache.ErrCorrupt)
	if v, err := r.Remember(t.Context(), "k", time.Minute, constant("fresh")); err != nil || string(v.Bytes()) != `"fresh"` {
		t.Errorf("a corrupt entry: %v, %v", v, err)
	}
	f.failing("get", nil)
	for _, stored := range []string{`"of another type"`, "not JSON", "null", `{"a":1}`} {
		f.plant("n", stored)
		h.seen = nil
		n, err := cache.Of[int](r).Remember(t.Context(), "n", time.Minute, func(context.Context) (int, error) { return 7, nil })
		if err != nil || n != 7 {
			t.Errorf("%s: %d, %v", stored, n, err)
		}
		if got, _ := f.stored("n"); got != "7" {
			t.Errorf("%s was overwritten with %q", stored, got)
		}
		if len(h.seen) != 3 || !strings.HasPrefix(h.seen[1], "recompute n") {
			t.Errorf("%s: the hook saw %q", stored, h.seen)
		}
	}
	f.failing("get", cache.ErrUnavailable)
	if _, err := r.Remember(t.Context(), "k", time.Minute, constant(1)); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("an outage: %v", err)
	}
}

func TestTheTypedViewServesHandWrittenRepositories(t *testing.T) {
	r := newFake().repository(t)
	type onlyContract struct{ cache.ICacheRepository }
	view := cache.Of[int](onlyContract{r})
	if err := r.Set(t.Context(), "n", "text", time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, _, err := view.Get(t.Context(), "n"); !errors.Is(err, cache.ErrWrongType) {
		t.Errorf("Get: %v", err)
	}
	if n, err := view.Remember(t.Context(), "n", time.Minute, func(context.Context) (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Errorf("Remember: %d, %v", n, err)
	}
	if n, ok, err := view.Pull(t.Context(), "n"); n != 7 || !ok || err != nil {
		t.Errorf("Pull: %d, %t, %v", n, ok, err)
	}
	if err := view.SetMany(t.Context(), map[string]int{"a": 1, "b": 2}, time.Minute); err != nil {
		t.Fatal(err)
	}
	if got, err := view.GetMany(t.Context(), []string{"a", "b", "c"}); err != nil || fmt.Sprint(got) != "map[a:1 b:2]" {
		t.Errorf("GetMany: %v, %v", got, err)
	}
}
