package sdk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/cachewright/cachewright/internal/fastplane"
)

// A batchingStore takes batches, and keeps their keys in mind.
type batchingStore struct {
	fakeStore
	fails map[string]error // of keys

	mu      sync.Mutex
	batches [][]string
}

func (s *batchingStore) note(keys []string) {
	s.mu.Lock()
	s.batches = append(s.batches, keys)
	s.mu.Unlock()
}

func (s *batchingStore) GetMany(ctx context.Context, keys []string) ([]Lookup, error) {
	s.note(keys)
	found := make([]Lookup, len(keys))
	for i, key := range keys {
		if err := s.fails[key]; err != nil {
			found[i].Err = err
			continue
		}
		found[i].Value, found[i].OK, found[i].Err = s.Get(ctx, key)
	}
	return found, nil
}

func (s *batchingStore) SetMany(ctx context.Context, entries []Entry) error {
	var keys []string
	failed := &BatchError{}
	for _, e := range entries {
		keys = append(keys, e.Key)
		if err := s.fails[e.Key]; err != nil {
			failed.Failed = append(failed.Failed, KeyError{Key: e.Key, Err: err})
			continue
		}
		if err := s.Set(ctx, e.Key, e.Value, e.TTL); err != nil {
			return err
		}
	}
	s.note(keys)
	if len(failed.Failed) > 0 {
		return failed
	}
	return nil
}

func (s *batchingStore) DeleteMany(ctx context.Context, keys []string) (int, error) { return 0, nil }

// Calls that are made together are answered each for itself.
func TestCallsMadeTogetherFailEachForItself(t *testing.T) {
	t.Parallel()
	s := &batchingStore{fails: map[string]error{"bad": ErrCorrupt}}
	in := newInstance(s)
	server := newServer(Define("test", "1", func(context.Context, struct{}) (Store, error) { return s, nil }), "")
	number, err := server.stores.add(in)
	if err != nil {
		t.Fatal(err)
	}
	calls := planeCalls{server}
	ask := func(op fastplane.Op, keys ...string) []fastplane.Answer {
		var rs []*fastplane.Request
		for i, key := range keys {
			rs = append(rs, &fastplane.Request{Op: op, Store: number, Key: key, Value: fmt.Append(nil, i)})
		}
		return calls.Together(context.Background(), rs)
	}
	for _, op := range []fastplane.Op{fastplane.OpSet, fastplane.OpGet} {
		answers := ask(op, "a", "bad", "", "b", "a")
		for i, want := range []error{nil, ErrCorrupt, ErrInvalidKey, nil, nil} {
			a := answers[i]
			if want == nil && !a.Yes() || want != nil && (a.Status != fastplane.StatusFailed || !errors.Is(a.Failure.Err(), want)) {
				t.Errorf("operation %d, call %d: %+v, want %v", op, i, a, want)
			}
		}
		if op == fastplane.OpGet && (string(answers[0].Value) != "4" || string(answers[4].Value) != "4" || string(answers[3].Value) != "3") {
			t.Errorf("got %q, %q and %q; the last Set of a key counts", answers[0].Value, answers[3].Value, answers[4].Value)
		}
	}
	if want := [][]string{{"bad", "b", "a"}, {"a", "bad", "b"}}; len(s.batches) != 2 || len(s.batches[1]) != 3 || !slices.Contains(s.batches[0], "bad") {
		t.Errorf("the store was given %q, want one batch for each, like %q", s.batches, want)
	}
	if answers := ask(fastplane.OpGet, "", "\x00"); answers[0].Status != fastplane.StatusFailed || answers[1].Status != fastplane.StatusFailed {
		t.Errorf("calls of which none is good: %+v", answers)
	}
	if answers := ask(fastplane.OpGet, "missing", "a"); answers[0].Yes() || !answers[1].Yes() {
		t.Errorf("a miss beside a hit: %+v", answers)
	}
}
