package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/internal/wire/driverpb"
	"github.com/cachewright/cachewright/sdk"
)

func TestABatchLargerThanAMessage(t *testing.T) {
	t.Parallel()
	m := &mapStore{}
	s, _ := opened(t, m)
	const n, size = 40, 2 << 20 // 80 MiB
	entries := make([]sdk.Entry, n)
	keys := make([]string, n)
	for i := range entries {
		keys[i] = fmt.Sprint("key ", i)
		entries[i] = sdk.Entry{Key: keys[i], Value: random(size + i)}
	}
	if err := s.SetMany(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	answers, err := s.GetMany(t.Context(), append(keys, keys[0]))
	if err != nil || len(answers) != n+1 {
		t.Fatalf("GetMany = %d answers, %v", len(answers), err)
	}
	for i, a := range answers {
		if want := entries[i%n].Value; !a.OK || !bytes.Equal(a.Value, want) {
			t.Errorf("answer %d has %d bytes, want %d", i, len(a.Value), len(want))
		}
	}
	if existed, err := s.DeleteMany(t.Context(), keys); existed != n || err != nil {
		t.Errorf("DeleteMany = %d, %v", existed, err)
	}
}

func TestABatchOfMoreKeysThanAMessageTakes(t *testing.T) {
	t.Parallel()
	s, _ := opened(t, &mapStore{})
	entries := make([]sdk.Entry, 2*wire.MaxBatchKeys+1)
	keys := make([]string, len(entries))
	for i := range entries {
		keys[i] = fmt.Sprint(i)
		entries[i] = sdk.Entry{Key: keys[i], Value: []byte(keys[i])}
	}
	if err := s.SetMany(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	answers, err := s.GetMany(t.Context(), keys)
	if err != nil || len(answers) != len(keys) || string(answers[len(keys)-1].Value) != keys[len(keys)-1] {
		t.Errorf("GetMany = %d answers, %v", len(answers), err)
	}
	if existed, err := s.DeleteMany(t.Context(), append(keys, keys...)); existed != len(keys) || err != nil {
		t.Errorf("DeleteMany = %d, %v, want every key once", existed, err)
	}
}

func TestAnEmptyBatchIsNoCall(t *testing.T) {
	t.Parallel()
	s, _ := opened(t, &scripted{answer: func(context.Context, string) error { return errors.New("reached") }})
	if answers, err := s.GetMany(t.Context(), nil); len(answers) != 0 || err != nil {
		t.Errorf("GetMany = %v, %v", answers, err)
	}
	if err := s.SetMany(t.Context(), nil); err != nil {
		t.Errorf("SetMany = %v", err)
	}
	if existed, err := s.DeleteMany(t.Context(), nil); existed != 0 || err != nil {
		t.Errorf("DeleteMany = %d, %v", existed, err)
	}
}

// fates sorts the keys of a batch error by what is known of them.
func fates(t *testing.T, err error) (unknown, untouched []string) {
	t.Helper()
	failed, ok := errors.AsType[*sdk.BatchError](err)
	if !ok {
		t.Fatalf("%v is no BatchError", err)
	}
	for _, f := range failed.Failed {
		if errors.Is(f, wire.ErrMaybeApplied) {
			unknown = append(unknown, f.Key)
		} else {
			untouched = append(untouched, f.Key)
		}
	}
	return unknown, untouched
}

func TestTheKeysOfABatchThatFailedAreNamed(t *testing.T) {
	t.Parallel()
	s, _ := opened(t, &mapStore{before: func(_ context.Context, _, key string) error {
		switch key {
		case "refused":
			return fmt.Errorf("%w: on purpose", wire.ErrOverloaded)
		case "cut":
			return fmt.Errorf("%w: %w", wire.ErrMaybeApplied, context.DeadlineExceeded)
		}
		return nil
	}})
	err := s.SetMany(t.Context(), []sdk.Entry{
		{Key: "a"}, {Key: "refused"}, {Key: "huge", Value: make([]byte, wire.MaxValue+1)}, {Key: "b"}, {Key: "cut"}, {Key: "\xff"},
	})
	unknown, untouched := fates(t, err)
	if !slices.Equal(unknown, []string{"cut"}) || !slices.Equal(untouched, []string{"huge", "\xff", "refused"}) {
		t.Errorf("unknown %q, untouched %q", unknown, untouched)
	}
	for _, sentinel := range []error{wire.ErrOverloaded, wire.ErrTooLarge, wire.ErrInvalidKey, wire.ErrMaybeApplied, context.DeadlineExceeded} {
		if !errors.Is(err, sentinel) {
			t.Errorf("%v does not match %v", err, sentinel)
		}
	}
	answers, err := s.GetMany(t.Context(), []string{"a", "b"})
	if err != nil || !answers[0].OK || !answers[1].OK {
		t.Errorf("the others = %+v, %v", answers, err)
	}
}

// threeMessages are entries that go out in three messages of two.
func threeMessages() []sdk.Entry {
	value := make([]byte, wire.MaxBatch/2)
	entries := make([]sdk.Entry, 6)
	for i, key := range []string{"a", "b", "c", "d", "e", "f"} {
		entries[i] = sdk.Entry{Key: key, Value: value[:len(value)-1]}
	}
	return entries
}

func TestALaterPartOfABatchThatIsLost(t *testing.T) {
	t.Parallel()
	var messages atomic.Int32
	l := newCuttable()
	s := overCuttable(t, l, &scripted{answer: func(ctx context.Context, _ string) error {
		if messages.Add(1) == 2 {
			l.cut()
			<-ctx.Done()
		}
		return ctx.Err()
	}})
	err := s.SetMany(t.Context(), threeMessages())
	unknown, untouched := fates(t, err)
	if !slices.Equal(unknown, []string{"c", "d"}) || !slices.Equal(untouched, []string{"e", "f"}) {
		t.Errorf("unknown %q, untouched %q, of %v", unknown, untouched, err)
	}
	if _, ok := errors.AsType[*transportError](err); !ok {
		t.Errorf("%v hides that the connection failed", err)
	}
}

func TestALaterPartOfABatchThatIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var messages atomic.Int32
	s, _ := opened(t, &scripted{answer: func(ctx context.Context, _ string) error {
		if messages.Add(1) == 2 {
			cancel()
			<-ctx.Done()
		}
		return ctx.Err()
	}})
	err := s.SetMany(ctx, threeMessages())
	unknown, untouched := fates(t, err)
	if !slices.Equal(unknown, []string{"c", "d"}) || !slices.Equal(untouched, []string{"e", "f"}) || !errors.Is(err, context.Canceled) {
		t.Errorf("unknown %q, untouched %q, of %v", unknown, untouched, err)
	}
}

func TestALaterPartOfABatchThatTheStoreRefuses(t *testing.T) {
	t.Parallel()
	s, _ := opened(t, &scripted{answer: func(_ context.Context, call string) error {
		if strings.Contains(call, "[c=") {
			return fmt.Errorf("%w: on purpose", wire.ErrUnavailable)
		}
		return nil
	}})
	unknown, untouched := fates(t, s.SetMany(t.Context(), threeMessages()))
	if unknown != nil || !slices.Equal(untouched, []string{"c", "d", "e", "f"}) {
		t.Errorf("unknown %q, untouched %q", unknown, untouched)
	}
}

func TestAFirstPartThatFailsSpeaksOfAll(t *testing.T) {
	t.Parallel()
	s, _ := opened(t, &scripted{answer: func(context.Context, string) error { return fmt.Errorf("%w: on purpose", wire.ErrUnavailable) }})
	err := s.SetMany(t.Context(), threeMessages())
	if _, isBatch := errors.AsType[*sdk.BatchError](err); isBatch || !errors.Is(err, wire.ErrUnavailable) {
		t.Errorf("SetMany = %v, want the store's own error", err)
	}
}

// A careless driver answers batches as no driver may.
type carelessDriver struct {
	driverpb.UnimplementedDriverServer
	items int
}

func (carelessDriver) Open(context.Context, *driverpb.OpenRequest) (*driverpb.OpenReply, error) {
	return &driverpb.OpenReply{}, nil
}

func (d carelessDriver) GetMany(context.Context, *driverpb.GetManyRequest) (*driverpb.GetManyReply, error) {
	return &driverpb.GetManyReply{Items: make([]*driverpb.Item, d.items)}, nil
}

func (carelessDriver) SetMany(context.Context, *driverpb.SetManyRequest) (*driverpb.SetManyReply, error) {
	return &driverpb.SetManyReply{Failures: []*driverpb.Failure{{Index: 1 << 31, Error: "unavailable"}}}, nil
}

func TestACarelessDriverIsAnErrorAndNoPanic(t *testing.T) {
	t.Parallel()
	for _, items := range []int{0, 3} {
		s, err := foreign(t, carelessDriver{items: items}).conn.open(t.Context(), "s", nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.GetMany(t.Context(), []string{"a", "b"}); !errors.Is(err, wire.ErrInternal) {
			t.Errorf("%d answers to 2 keys = %v, want ErrInternal", items, err)
		}
		if err := s.SetMany(t.Context(), []sdk.Entry{{Key: "a"}}); !errors.Is(err, wire.ErrInternal) || !errors.Is(err, wire.ErrMaybeApplied) {
			t.Errorf("a failure of no key = %v, want ErrInternal: something failed", err)
		}
	}
}
