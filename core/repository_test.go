package core_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/sdk"
)

func TestATTLIsPositiveOrForever(t *testing.T) {
	f := newFake()
	r := f.repository(t)
	forever := cache.Forever
	for _, ttl := range []time.Duration{0, -1, math.MinInt64, forever + 1, forever * 2} {
		for name, err := range map[string]error{
			"set":       r.Set(t.Context(), "k", 1, ttl),
			"add":       second(r.Add(t.Context(), "k", 1, ttl)),
			"replace":   second(r.Replace(t.Context(), "k", 1, ttl)),
			"touch":     second(r.Touch(t.Context(), "k", ttl)),
			"set-many":  r.SetMany(t.Context(), map[string]any{"k": 1}, ttl),
			"increment": second(r.Increment(t.Context(), "k", 1, cache.InitialTTL(ttl))),
			"remember":  second(r.Remember(t.Context(), "k", ttl, func(context.Context) (any, error) { t.Error("resolved"); return 1, nil })),
		} {
			if !errors.Is(err, cache.ErrInvalidTTL) {
				t.Errorf("%s for %d: %v, want ErrInvalidTTL", name, ttl, err)
			}
		}
	}
	if calls := f.seen(); len(calls) > 0 {
		t.Errorf("the driver saw %v", calls)
	}
}

func second[T any](_ T, err error) error { return err }

func TestTTLsAreRoundedUpToTheGranularity(t *testing.T) {
	for _, c := range []struct{ granularity, ttl, want time.Duration }{
		{time.Millisecond, 1, time.Millisecond},
		{time.Millisecond, 1500 * time.Microsecond, 2 * time.Millisecond},
		{time.Millisecond, time.Millisecond, time.Millisecond},
		{time.Second, 1, time.Second},
		{time.Second, 61*time.Second + 1, 62 * time.Second},
		{time.Millisecond, 100 * 365 * 24 * time.Hour, 100 * 365 * 24 * time.Hour},
		{time.Millisecond, cache.Forever, cache.Forever},
		{time.Second, cache.Forever - 1, cache.Forever},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.traits.Granularity = c.granularity
			r := f.repository(t)
			if err := r.Set(t.Context(), "k", 1, c.ttl); err != nil {
				t.Fatal(err)
			}
			if got, ok, err := r.TTL(t.Context(), "k"); got != c.want || !ok || err != nil {
				t.Errorf("granularity %v, TTL %v: %v, %t, %v; want %v", c.granularity, c.ttl, got, ok, err, c.want)
			}
		})
	}
}

func TestKeysAreCheckedBeforeAnyCall(t *testing.T) {
	f := newFake()
	m := f.open(t, cache.Config{Prefix: "p"})
	for name, key := range map[string]string{
		"empty": "", "NUL": "a\x00b", "not UTF-8": "a\xff", "too long with its prefix": strings.Repeat("k", 1023),
	} {
		for op, err := range map[string]error{
			"get":      second(m.Get(t.Context(), key)),
			"set":      m.Set(t.Context(), key, 1, time.Minute),
			"delete":   second(m.Delete(t.Context(), key)),
			"has":      second(m.Has(t.Context(), key)),
			"get-many": second(m.GetMany(t.Context(), []string{"fine", key})),
			"set-many": m.SetMany(t.Context(), map[string]any{"fine": 1, key: 1}, time.Minute),
			"lock":     m.Lock(key).Do(t.Context(), mustNotRun(t)),
		} {
			if !errors.Is(err, cache.ErrInvalidKey) {
				t.Errorf("%s of a key that is %s: %v, want ErrInvalidKey", op, name, err)
			}
		}
	}
	if calls := f.seen(); len(calls) > 0 || f.opens > 0 {
		t.Errorf("the driver was opened %d times and saw %v", f.opens, calls)
	}
	if err := m.Set(t.Context(), strings.Repeat("k", 1022), 1, time.Minute); err != nil {
		t.Errorf("1,024 bytes with the prefix: %v", err)
	}
}

func TestAKeyLongerThanTheStoreTakesIsInvalid(t *testing.T) {
	f := newFake()
	f.traits.MaxKey = 10
	r := f.repository(t)
	for op, err := range map[string]error{
		"get":      second(r.Get(t.Context(), "elevenbytes")),
		"get-many": second(r.GetMany(t.Context(), []string{"fine", "elevenbytes"})),
	} {
		if !errors.Is(err, cache.ErrInvalidKey) || !strings.Contains(err.Error(), "10") {
			t.Errorf("%s: %v, want ErrInvalidKey naming the limit", op, err)
		}
	}
}

func TestThePrefixStandsBeforeEveryKey(t *testing.T) {
	f := newFake()
	none := ""
	m := f.open(t, cache.Config{Default: "global", Prefix: "g", Stores: map[string]cache.StoreConfig{
		"global": {Driver: "fake"},
		"own":    {Driver: "fake", Prefix: new("o")},
		"bare":   {Driver: "fake", Prefix: &none},
	}})
	for store, want := range map[string]string{"global": "g:k", "own": "o:k", "bare": "k"} {
		if err := repository(t, m, store).Set(t.Context(), "k", store, cache.Forever); err != nil {
			t.Fatal(err)
		}
		if got, ok := f.stored(want); !ok || got != `"`+store+`"` {
			t.Errorf("store %s: physical key %s holds %q, %t", store, want, got, ok)
		}
	}
}

func TestClearStaysWithinThePrefix(t *testing.T) {
	f := newFake()
	m := f.open(t, cache.Config{Prefix: "app"})
	f.plant("app2:k", "1")
	f.plant("app", "1")
	for _, key := range []string{"a", "b", "c"} {
		if err := m.Set(t.Context(), key, 1, cache.Forever); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	if keys := slices.Sorted(maps.Keys(f.entries)); !slices.Equal(keys, []string{"app", "app2:k"}) {
		t.Errorf("left after Clear: %v", keys)
	}
}

func TestBatchesAnswerForExactlyTheKeysAsked(t *testing.T) {
	f := newFake()
	r := f.repository(t)
	if err := r.SetMany(t.Context(), map[string]any{"1": "one", "2": nil}, time.Minute); err != nil {
		t.Fatal(err)
	}
	values, err := r.GetMany(t.Context(), []string{"2", "1", "absent", "1"})
	if err != nil {
		t.Fatal(err)
	}
	if len(values) != 3 || values["absent"].Found() || !values["2"].IsNull() || string(values["1"].Bytes()) != `"one"` {
		t.Errorf("GetMany: %v", values)
	}
	if n, err := r.DeleteMany(t.Context(), []string{"1", "1", "absent"}); n != 1 || err != nil {
		t.Errorf("DeleteMany: %d, %v; want 1", n, err)
	}
	f.seen()
	empty, err := r.GetMany(t.Context(), nil)
	if len(empty) != 0 || err != nil {
		t.Errorf("GetMany of nothing: %v, %v", empty, err)
	}
	if err := r.SetMany(t.Context(), nil, time.Minute); err != nil {
		t.Errorf("SetMany of nothing: %v", err)
	}
	if _, err := r.DeleteMany(t.Context(), []string{}); err != nil {
		t.Errorf("DeleteMany of nothing: %v", err)
	}
	if calls := f.seen(); len(calls) > 0 {
		t.Errorf("empty batches reached the driver: %v", calls)
	}
}

func TestABatchErrorNamesTheCallersKeys(t *testing.T) {
	f := newFake()
	m := f.open(t, cache.Config{Prefix: "p"})
	f.failing("set", sdk.ErrMaybeApplied)
	err := m.SetMany(t.Context(), map[string]any{"a": 1, "b": 2}, time.Minute)
	var batch *cache.BatchError
	if !errors.As(err, &batch) || !errors.Is(err, cache.ErrMaybeApplied) {
		t.Fatalf("SetMany: %v, want a *BatchError that matches ErrMaybeApplied", err)
	}
	if keys := slices.Sorted(maps.Keys(batch.Failed)); !slices.Equal(keys, []string{"a", "b"}) {
		t.Errorf("failed keys %v", keys)
	}
	f.failing("get", sdk.ErrCorrupt)
	if _, err := m.GetMany(t.Context(), []string{"a"}); !errors.As(err, &batch) || !errors.Is(err, cache.ErrCorrupt) {
		t.Errorf("GetMany: %v", err)
	}
}

func TestAFailedBatchOfManyKeysIsReportedAtOnce(t *testing.T) {
	const keys = 200_000
	f := newFake()
	r := repository(t, f.open(t, cache.Config{Prefix: "p"}), "main")
	f.failing("delete", sdk.ErrMaybeApplied)
	many := make([]string, keys)
	for i := range many {
		many[i] = fmt.Sprintf("key-%d", i)
	}
	start := time.Now()
	_, err := r.DeleteMany(t.Context(), many)
	took := time.Since(start)
	var batch *cache.BatchError
	if !errors.As(err, &batch) || len(batch.Failed) != keys || batch.Failed["key-7"] == nil {
		t.Fatalf("DeleteMany: %.200v, want a *BatchError of %d keys", err, keys)
	}
	if took > 30*time.Second {
		t.Errorf("naming %d failed keys took %v", keys, took)
	}
}

func TestKeysIteratesOverAllPagesWithoutThePrefix(t *testing.T) {
	f := newFake()
	m := f.open(t, cache.Config{Prefix: "p"})
	r := repository(t, m, "main")
	want := []string{"a1", "a2", "a3", "a4", "a5"}
	for _, key := range append(want, "b1") {
		if err := r.Set(t.Context(), key, 1, cache.Forever); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for key, err := range r.Keys(t.Context(), "a") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, key)
	}
	if !slices.Equal(got, want) {
		t.Errorf("Keys: %v, want %v", got, want)
	}
	f.seen()
	for range r.Keys(t.Context(), "") {
		break
	}
	if calls := f.seen(); len(calls) != 1 {
		t.Errorf("an iteration that ends early made %v", calls)
	}
	f.failing("keys", errBlock)
	var last error
	for _, err := range r.Keys(t.Context(), "") {
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), "keys in store main") {
		t.Errorf("a failing page: %v", last)
	}
}

func TestDecrementIsTheOpposite(t *testing.T) {
	r := newFake().repository(t)
	if n, err := r.Decrement(t.Context(), "n", 5); n != -5 || err != nil {
		t.Errorf("Decrement by 5: %d, %v", n, err)
	}
	if n, err := r.Decrement(t.Context(), "n", -7); n != 2 || err != nil {
		t.Errorf("Decrement by -7: %d, %v", n, err)
	}
	if _, err := r.Decrement(t.Context(), "n", math.MinInt64); !errors.Is(err, cache.ErrOverflow) {
		t.Errorf("Decrement by MinInt64: %v, want ErrOverflow", err)
	}
}

func TestTheStoresTimeoutBoundsACallWithoutDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var deadline time.Duration
		m := f.open(t, cache.Config{Stores: map[string]cache.StoreConfig{"main": {Driver: "fake", Timeout: 7 * time.Second}}},
			cache.WithHook(hookFunc(func(ctx context.Context, c cache.Call) {
				d, _ := ctx.Deadline()
				deadline = time.Until(d)
			})))
		if _, err := m.Get(t.Context(), "k"); err != nil || deadline != 7*time.Second {
			t.Errorf("without a deadline: %v, %v", deadline, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := m.Get(ctx, "k"); err != nil || deadline != time.Hour {
			t.Errorf("with a deadline of an hour: %v, %v", deadline, err)
		}
	})
}

// A hookFunc looks at calls and changes nothing.
type hookFunc func(ctx context.Context, c cache.Call)

func (h hookFunc) Start(ctx context.Context, c cache.Call) (context.Context, error) {
	h(ctx, c)
	return ctx, nil
}

func (hookFunc) End(_ context.Context, _ cache.Call, o cache.Outcome) error { return o.Err }

func TestErrorsSayWhatWhereAndWhy(t *testing.T) {
	f := newFake()
	r := f.repository(t)
	f.failing("get", errors.New("the disk is on fire"))
	_, err := r.Get(t.Context(), "user:1")
	if want := `cache: get "user:1" in store main (driver fake): the disk is on fire`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	var e *cache.Error
	if !errors.As(err, &e) || e.Op != "get" || e.Store != "main" || e.Driver != "fake" || e.Key != "user:1" {
		t.Errorf("error %#v", e)
	}
}

func TestALongKeyIsClippedInTheText(t *testing.T) {
	f := newFake()
	r := f.repository(t)
	f.failing("get", errors.New("the disk is on fire"))
	key := strings.Repeat("ключ", 100)
	_, err := r.Get(t.Context(), key)
	if want := `cache: get "` + strings.Repeat("ключ", 12) + `кл…" in store main (driver fake): the disk is on fire`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if e, ok := errors.AsType[*cache.Error](err); !ok || e.Key != key {
		t.Errorf("the key of %#v is not whole", e)
	}
}

func TestAValueThatNoCodecWritesIsNamedByItsType(t *testing.T) {
	r := newFake().repository(t)
	for _, test := range []struct {
		codec cache.Codec
		value any
		want  string
	}{
		{cache.JSON, func() {}, "the value can't be stored: func() can't be written as JSON"},
		{cache.JSON, "\xff", "the value can't be stored: the string is not valid UTF-8"},
		{cache.Raw, 1.5, "the value can't be stored: the raw codec takes []byte, string and integers, not float64"},
	} {
		err := r.WithCodec(test.codec).Set(t.Context(), "k", test.value, cache.Forever)
		if !errors.Is(err, cache.ErrWrongType) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%T: %v; want %q in it", test.value, err, test.want)
		}
	}
}

func TestAnUnknownStoreNamesThoseThereAre(t *testing.T) {
	m := newFake().open(t, cache.Config{})
	_, err := m.Store("nope")
	if !errors.Is(err, cache.ErrUnknownStore) || !strings.Contains(err.Error(), `"nope"; the configuration has main`) {
		t.Errorf("error %v", err)
	}
	one, _ := m.Store("")
	two, _ := m.Store("main")
	if one != two {
		t.Error("the same store gave two repositories")
	}
}

func TestAfterCloseEverythingIsErrClosed(t *testing.T) {
	f := newFake()
	m, err := f.tryOpen(t, cache.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Set(t.Context(), "k", 1, cache.Forever); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := m.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Get(t.Context(), "k"); !errors.Is(err, cache.ErrClosed) {
		t.Errorf("Get: %v", err)
	}
	if err := m.Lock("k").Do(t.Context(), mustNotRun(t)); !errors.Is(err, cache.ErrClosed) {
		t.Errorf("Do: %v", err)
	}
	if calls := f.seen(); calls[len(calls)-1] != "close" {
		t.Errorf("the store was not closed last: %v", calls)
	}
}

func TestAStoreThatFailsToOpenIsTriedAgain(t *testing.T) {
	f := newFake()
	r := f.repository(t)
	f.failing("open", errors.New("not yet"))
	if _, err := r.Get(t.Context(), "k"); err == nil || !strings.Contains(err.Error(), "not yet") {
		t.Errorf("Get while the store does not open: %v", err)
	}
	f.failing("open", nil)
	if _, err := r.Get(t.Context(), "k"); err != nil || f.opens != 2 {
		t.Errorf("Get after that: %v; opened %d times", err, f.opens)
	}
}

func TestHooksMeetEveryCallAndMayRefuseOrForgive(t *testing.T) {
	f := newFake()
	h := &recordingHook{}
	r := f.repository(t, cache.WithHook(h))
	_ = r.Set(t.Context(), "k", "v", time.Minute)
	_, _ = r.Get(t.Context(), "k")
	_, _ = r.GetMany(t.Context(), []string{"k", "absent"})
	_ = r.Lock("k").Do(t.Context(), func(context.Context) error { return errBlock })
	want := []string{"set k 0 3 <nil>", "get k 1 3 <nil>", "get-many  1 3 <nil>", "lock-wait k 0 0 <nil>", "lock k 0 0 " + errBlock.Error()}
	if !slices.Equal(h.seen, want) {
		t.Errorf("the hook saw %q, want %q", h.seen, want)
	}
	h.refuse = errors.New("refused")
	if _, err := r.Get(t.Context(), "k"); !errors.Is(err, h.refuse) {
		t.Errorf("a refused call: %v", err)
	}
	if err := r.Lock("k").Do(t.Context(), mustNotRun(t)); !errors.Is(err, h.refuse) {
		t.Errorf("a refused lock: %v", err)
	}
	h.refuse, h.forgive = nil, true
	f.failing("get", errBlock)
	if v, err := r.Get(t.Context(), "k"); err != nil || v.Found() {
		t.Errorf("a forgiven read: %v, %v; want a miss", v, err)
	}
	if values, err := r.GetMany(t.Context(), []string{"k"}); err != nil || len(values) != 1 || values["k"].Found() {
		t.Errorf("a forgiven batch: %v, %v; want a miss", values, err)
	}
	if err := r.Lock("k").Do(t.Context(), func(context.Context) error { return errBlock }); !errors.Is(err, errBlock) {
		t.Errorf("a lock's error was taken away: %v", err)
	}
}

func TestCloseClosesStoresSideBySide(t *testing.T) {
	const stores = 3
	f := newFake()
	c := cache.Config{Stores: map[string]cache.StoreConfig{}}
	for i := range stores {
		c.Stores[fmt.Sprintf("s%d", i)] = cache.StoreConfig{Driver: "fake"}
	}
	c.Default = "s0"
	m := f.open(t, c)
	if err := m.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	var arrived sync.WaitGroup // each store's Close waits for the others'
	arrived.Add(stores)
	f.mu.Lock()
	f.before = func(op, _ string) {
		if op == "close" {
			arrived.Done()
			arrived.Wait()
		}
	}
	f.mu.Unlock()
	closed := make(chan error, 1)
	go func() { closed <- m.Close(t.Context()) }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the stores are closed one after another")
	}
}
