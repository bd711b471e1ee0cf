package fastplane

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cachewright/cachewright/internal/wire"
)

// A shelf keeps values.
type shelf struct {
	mu     sync.Mutex
	values map[string][]byte
}

func (*shelf) Manner(uint64, Op) Manner { return Apart }

func (s *shelf) Handle(_ context.Context, r *Request) (a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.Say(true)
	switch r.Op {
	case OpSet:
		s.values[r.Key] = bytes.Clone(r.Value)
	case OpGet:
		a.Value = s.values[r.Key]
	case OpSetMany:
		for _, e := range r.Entries {
			s.values[e.Key] = bytes.Clone(e.Value)
		}
	case OpGetMany:
		for _, key := range r.Keys {
			value, ok := s.values[key]
			a.Items = append(a.Items, Item{Found: ok, Value: value})
		}
	case OpDelete:
		delete(s.values, r.Key)
	}
	return a
}

func (s *shelf) Together(context.Context, []*Request) []Answer { panic("nothing is made together") }

// The request of a Set is this much longer than its value.
var around = requestSize(&Request{Op: OpSet, Key: "k"})

func TestValuesOfEverySizeGoThereAndBack(t *testing.T) {
	t.Parallel()
	c := connected(t, &shelf{values: map[string][]byte{}})
	for _, size := range []int{
		0, 1, inlineAnswer - 1, inlineAnswer, inlineAnswer + 1, smallBuffer,
		maxPart - around - 1, maxPart - around, maxPart - around + 1,
		maxPart - 1, maxPart, maxPart + 1, 2*maxPart - around, 2 * maxPart, 2*maxPart + 1,
		promised - 1, promised, promised + 1, 10 << 20, wire.MaxValue,
	} {
		value := told(fmt.Sprintf("%d:some", size))
		for _, r := range []Request{{Op: OpSet, Key: "k", Value: value}, {Op: OpGet, Key: "k"}} {
			a, _, err := c.Call(t.Context(), &r)
			if err != nil || !a.Yes() {
				t.Fatalf("operation %d, %d bytes: %v", r.Op, size, err)
			}
			if r.Op == OpGet && (!bytes.Equal(a.Value, value) || a.Value == nil) {
				t.Errorf("of %d bytes %d came back, nil: %v", size, len(a.Value), a.Value == nil)
			}
		}
	}
}

func TestBatchesOfEverySizeGoThereAndBack(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]struct{ keys, size int }{
		"empty":                     {0, 0},
		"one":                       {1, 1},
		"as many keys as there are": {wire.MaxBatchKeys, 40},
		"near the largest":          {31, 1 << 20},
		"the largest":               {32, 1 << 20},
		"beside a large one":        {1, wire.MaxBatch + 1<<20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connected(t, &shelf{values: map[string][]byte{}})
			set := Request{Op: OpSetMany}
			ask := Request{Op: OpGetMany}
			for i := range b.keys {
				key := fmt.Sprintf("%d:%d", b.size, i)
				set.Entries = append(set.Entries, Entry{Key: key, Value: told(key)})
				ask.Keys = append(ask.Keys, key, "missing")
			}
			ask.Keys = ask.Keys[:min(len(ask.Keys), wire.MaxBatchKeys)]
			if a, _, err := c.Call(t.Context(), &set); err != nil || !a.Yes() {
				t.Fatal(err)
			}
			a, _, err := c.Call(t.Context(), &ask)
			if err != nil || len(a.Items) != len(ask.Keys) {
				t.Fatalf("%d of %d items: %v", len(a.Items), len(ask.Keys), err)
			}
			for i, item := range a.Items {
				if key := ask.Keys[i]; item.Found != (key != "missing") || item.Found && !bytes.Equal(item.Value, told(key)) {
					t.Errorf("%s: %v, %d bytes", key, item.Found, len(item.Value))
				}
			}
		})
	}
}

// The order of frames shows it: a small request overtakes the parts of a large
// one that are not out yet.
func TestASmallRequestOvertakesALargeOne(t *testing.T) {
	t.Parallel()
	c, peer := played(t)
	large := c.begin(context.Background(), Request{Op: OpSet, Key: "large", Value: make([]byte, wire.MaxValue)})
	first := peer.next(t)
	id, size, came := first.id, first.size, len(first.part)
	eventually(t, "the outbox is full", func() bool { return c.out.waited() })
	small := c.begin(context.Background(), Request{Op: OpGet, Key: "small"})
	eventually(t, "the small request is on its way", func() bool { return c.pending.Load() == 2 })
	var smallID uint64
	for smallID == 0 {
		switch f := peer.next(t); f.kind {
		case kindRequest:
			smallID = f.id
		default:
			came += len(f.part)
		}
	}
	if came > size/4 {
		t.Errorf("%d of %d bytes came before the small request", came, size)
	}
	peer.write(t, whole(kindAnswer, uint8(StatusYes), smallID, "v"))
	checkValue(t, small, "v")
	for came < size {
		came += len(peer.next(t).part)
	}
	peer.write(t, whole(kindAnswer, uint8(StatusYes), id, ""))
	if r := await(t, large); r.err != nil {
		t.Error(r.err)
	}
}

func TestASmallAnswerOvertakesALargeOne(t *testing.T) {
	t.Parallel()
	for _, manner := range []Manner{Apart, Inline} {
		d := newDesk(manner)
		d.answers["large"] = strings.Repeat("v", wire.MaxValue)
		host, _ := served(t, d)
		host.write(t, get(1, "large"))
		first := host.next(t)
		size, came := first.size, len(first.part)
		host.write(t, get(2, "easy"))
		for f := host.next(t); f.id != 2; f = host.next(t) {
			came += len(f.part)
			if came > size/2 { // on a busy machine many parts are out before the small call is made
				t.Fatalf("%d of %d bytes came before the small answer", came, size)
			}
		}
		for came < size {
			came += len(host.next(t).part)
		}
	}
}
