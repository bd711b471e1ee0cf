package sdk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cachewright/cachewright/internal/fastplane"
	"github.com/cachewright/cachewright/internal/wire"
)

// overPlane serves one store on a fast plane until the test ends.
func overPlane(t *testing.T, s Store) (c *fastplane.Client, number uint64) {
	t.Helper()
	host, end, err := fastplane.Pair()
	if err != nil {
		t.Skip("no plane on this system:", err)
	}
	socket, err := fastplane.Connect(end)
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(Define("test", "1", func(context.Context, struct{}) (Store, error) { return s, nil }), "")
	if err := server.servePlane(socket); err != nil {
		t.Fatal(err)
	}
	number, err = server.stores.add(newInstance(s))
	if err != nil {
		t.Fatal(err)
	}
	c, err = fastplane.NewClient(host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.stop(); err != nil {
			t.Error(err)
		}
		c.Close()
	})
	return c, number
}

func planeCall(t *testing.T, c *fastplane.Client, r fastplane.Request) (fastplane.Answer, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	a, _, err := c.Call(ctx, &r)
	if err != nil {
		t.Fatal(err)
	}
	if a.Status == fastplane.StatusFailed {
		return a, a.Failure.Err()
	}
	return a, nil
}

func TestEveryCallOverThePlaneIsCheckedAsOverGRPC(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", wire.MaxKey+wire.MaxSuffix+1)
	for _, dispatch := range []Dispatch{DispatchApart, DispatchInline, DispatchTogether} {
		c, number := overPlane(t, &batchingStore{fakeStore: fakeStore{traits: Traits{Dispatch: dispatch}}})
		for name, test := range map[string]struct {
			r    fastplane.Request
			want error
		}{
			"no such store":           {fastplane.Request{Op: fastplane.OpGet, Store: number + 1, Key: "k"}, wire.ErrNotOpen},
			"no key":                  {fastplane.Request{Op: fastplane.OpGet}, ErrInvalidKey},
			"a NUL":                   {fastplane.Request{Op: fastplane.OpSet, Key: "a\x00"}, ErrInvalidKey},
			"a long key":              {fastplane.Request{Op: fastplane.OpDelete, Key: long}, ErrInvalidKey},
			"a negative TTL":          {fastplane.Request{Op: fastplane.OpSet, Key: "k", TTL: -1}, wire.ErrInvalidTTL},
			"a lease of nothing":      {fastplane.Request{Op: fastplane.OpAcquireLease, Key: "k"}, wire.ErrInvalidTTL},
			"what is not announced":   {fastplane.Request{Op: fastplane.OpIncrement, Key: "k"}, errors.ErrUnsupported},
			"no key in a batch":       {fastplane.Request{Op: fastplane.OpGetMany, Keys: []string{"k", ""}}, ErrInvalidKey},
			"no key in a batch write": {fastplane.Request{Op: fastplane.OpSetMany, Entries: []fastplane.Entry{{Key: ""}}}, ErrInvalidKey},
		} {
			r := test.r
			if r.Store == 0 {
				r.Store = number
			}
			if _, err := planeCall(t, c, r); !errors.Is(err, test.want) {
				t.Errorf("%s: %v, want %v", name, err, test.want)
			}
		}
	}
}

func TestEverySentinelArrivesOverThePlane(t *testing.T) {
	t.Parallel()
	var failure error
	c, number := overPlane(t, &fakeStore{before: func(_ context.Context, op, _ string) error {
		if op == "close" {
			return nil
		}
		return failure
	}})
	sentinels := []error{
		ErrMaybeApplied, context.Canceled, context.DeadlineExceeded, ErrInvalidKey, wire.ErrInvalidTTL, ErrTooLarge, wire.ErrNotInteger,
		wire.ErrOverflow, ErrCorrupt, wire.ErrOverloaded, ErrClosed, errors.ErrUnsupported, wire.ErrUnavailable, ErrInternal,
	}
	for _, sentinel := range append(sentinels, errors.Join(ErrMaybeApplied, context.DeadlineExceeded)) {
		failure = fmt.Errorf("%w: the store's own words", sentinel)
		for _, op := range []fastplane.Op{fastplane.OpGet, fastplane.OpSet, fastplane.OpPull} {
			_, err := planeCall(t, c, fastplane.Request{Op: op, Store: number, Key: "k"})
			for _, s := range sentinels {
				if errors.Is(err, s) != errors.Is(failure, s) {
					t.Errorf("operation %d that failed with %q arrives as %q, which is %q: %v", op, failure, err, s, errors.Is(err, s))
				}
			}
			if err == nil || !strings.HasSuffix(err.Error(), "the store's own words") {
				t.Errorf("%q arrives as %v", failure, err)
			}
		}
	}
	failure = errors.New(strings.Repeat("long\xff ", wire.MaxErrorText))
	if _, err := planeCall(t, c, fastplane.Request{Op: fastplane.OpGet, Store: number, Key: "k"}); len(err.Error()) > wire.MaxErrorText || !utf8.ValidString(err.Error()) {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
	failure = nil
}

func TestAPanicOverThePlaneEndsItsCallOnly(t *testing.T) {
	t.Parallel()
	for _, dispatch := range []Dispatch{DispatchApart, DispatchInline, DispatchTogether} {
		c, number := overPlane(t, &fakeStore{
			traits: Traits{Dispatch: dispatch},
			before: func(_ context.Context, _, key string) error {
				if key == "panic" {
					panic("a secret")
				}
				return nil
			},
		})
		for _, op := range []fastplane.Op{fastplane.OpGet, fastplane.OpSet, fastplane.OpDelete} {
			_, err := planeCall(t, c, fastplane.Request{Op: op, Store: number, Key: "panic"})
			if !errors.Is(err, ErrInternal) || strings.Contains(err.Error(), "secret") || errors.Is(err, ErrMaybeApplied) != (op != fastplane.OpGet) {
				t.Errorf("operation %d: %v", op, err)
			}
			if _, err := planeCall(t, c, fastplane.Request{Op: op, Store: number, Key: "k"}); err != nil {
				t.Errorf("operation %d afterwards: %v", op, err)
			}
		}
	}
}

func TestTheMannerOfACallIsWhatItsStoreAnnounced(t *testing.T) {
	t.Parallel()
	server := newServer(Define("test", "1", func(context.Context, struct{}) (Store, error) { return nil, errors.ErrUnsupported }), "")
	add := func(s Store) uint64 {
		number, err := server.stores.add(newInstance(s))
		if err != nil {
			t.Fatal(err)
		}
		return number
	}
	traits := func(d Dispatch) fakeStore { return fakeStore{traits: Traits{Dispatch: d}} }
	apart, inline := add(&batchingStore{fakeStore: traits(DispatchApart)}), add(&batchingStore{fakeStore: traits(DispatchInline)})
	together, single := add(&batchingStore{fakeStore: traits(DispatchTogether)}), add(&fakeStore{traits: Traits{Dispatch: DispatchTogether}})
	for _, test := range []struct {
		store             uint64
		get, delete, many fastplane.Manner
	}{
		{apart, fastplane.Apart, fastplane.Apart, fastplane.Apart},
		{inline, fastplane.Inline, fastplane.Inline, fastplane.Apart},
		{together, fastplane.Together, fastplane.Apart, fastplane.Apart},
		{single, fastplane.Apart, fastplane.Apart, fastplane.Apart}, // it has no batches
		{1, fastplane.Inline, fastplane.Inline, fastplane.Inline},   // there is no such store
	} {
		c := planeCalls{server}
		get, set := c.Manner(test.store, fastplane.OpGet), c.Manner(test.store, fastplane.OpSet)
		if one, many := c.Manner(test.store, fastplane.OpDelete), c.Manner(test.store, fastplane.OpGetMany); get != test.get || set != test.get || one != test.delete || many != test.many {
			t.Errorf("store %d: %v, %v, %v, %v; want %+v", test.store, get, set, one, many, test)
		}
	}
}

// Stopping lets calls that are running end, and their answers out.
func TestStoppingLetsTheCallsOfThePlaneEnd(t *testing.T) {
	t.Parallel()
	began, goOn := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	t.Cleanup(func() { // runs after the server has been stopped
		if err := <-ended; err != nil {
			t.Error("the call was cut:", err)
		}
	})
	s := &fakeStore{before: func(_ context.Context, op, _ string) error {
		if op == "get" {
			close(began)
			<-goOn
		}
		return nil
	}}
	c, number := overPlane(t, s)
	go func() {
		a, _, err := c.Call(context.Background(), &fastplane.Request{Op: fastplane.OpGet, Store: number, Key: "k"})
		if err == nil && a.Status == fastplane.StatusFailed {
			err = a.Failure.Err()
		}
		ended <- err
	}()
	<-began
	time.AfterFunc(20*time.Millisecond, func() { close(goOn) })
}
