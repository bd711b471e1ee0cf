package sdk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
)

// A bareStore has the four methods and nothing else.
type bareStore struct{ Store }

func (s bareStore) Close() error { return s.Store.Close() }

func TestCapabilitiesAreWhatTheTypeHasLessWhatItWithdraws(t *testing.T) {
	t.Parallel()
	full := newInstance(&fakeStore{traits: Traits{Withdrawn: []Capability{CanList}}})
	want := Capabilities{CanAdd, CanPull, CanWaitLease}
	if got := full.Capabilities(); !slices.Equal(got, want) {
		t.Errorf("capabilities = %v, want %v", got, want)
	}
	if _, _, err := full.Keys(t.Context(), "", nil, 1); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a withdrawn Keys = %v, want ErrUnsupported", err)
	}
	if got := newInstance(bareStore{&fakeStore{}}).Capabilities(); len(got) != 0 {
		t.Errorf("four methods announce %v", got)
	}
}

func TestWhatIsNotAnnouncedIsRefused(t *testing.T) {
	t.Parallel()
	in := newInstance(bareStore{&fakeStore{}})
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"Add":           func() error { _, err := in.Add(ctx, "k", nil, 0); return err },
		"Replace":       func() error { _, err := in.Replace(ctx, "k", nil, 0); return err },
		"Pull":          func() error { _, _, err := in.Pull(ctx, "k"); return err },
		"Increment":     func() error { _, err := in.Increment(ctx, "k", 1, 0); return err },
		"CompareDelete": func() error { _, err := in.CompareDelete(ctx, "k", nil); return err },
		"Clear":         func() error { _, _, err := in.Clear(ctx, "", nil); return err },
		"TTL":           func() error { _, _, err := in.TTL(ctx, "k"); return err },
		"Touch":         func() error { _, err := in.Touch(ctx, "k", 0); return err },
		"Keys":          func() error { _, _, err := in.Keys(ctx, "", nil, 1); return err },
		"AcquireLease":  func() error { _, err := in.AcquireLease(ctx, LeaseRequest{}); return err },
		"RenewLease":    func() error { _, err := in.RenewLease(ctx, LeaseRequest{}); return err },
		"ReleaseLease":  func() error { _, err := in.ReleaseLease(ctx, LeaseRequest{}); return err },
		"WaitLease":     func() error { return in.WaitLease(ctx, LeaseRequest{}) },
	} {
		if err := call(); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s = %v, want ErrUnsupported", name, err)
		}
	}
	if err := in.Ping(ctx); err != nil {
		t.Errorf("Ping without a Pinger = %v", err)
	}
	if stats, err := in.Stats(ctx); err != nil || stats != nil {
		t.Errorf("Stats without a StatsReporter = %v, %v", stats, err)
	}
}

func TestAPanicFailsTheCall(t *testing.T) {
	t.Parallel()
	in := newInstance(&fakeStore{before: func(_ context.Context, op, _ string) error { panic(op + " holds a value") }})
	_, _, err := in.Get(t.Context(), "k")
	if !errors.Is(err, ErrInternal) || errors.Is(err, ErrMaybeApplied) || contains(err.Error(), "holds a value") {
		t.Errorf("Get = %v, want ErrInternal alone, without the panic's value", err)
	}
	err = in.Set(t.Context(), "k", nil, 0)
	if !errors.Is(err, ErrInternal) || !errors.Is(err, ErrMaybeApplied) {
		t.Errorf("Set = %v, want ErrInternal and ErrMaybeApplied", err)
	}
	if err := in.Close(t.Context()); !errors.Is(err, ErrInternal) {
		t.Errorf("Close = %v, want ErrInternal: the failed calls have left", err)
	}
}

func TestCloseWaitsForCallsAndClosesOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{before: func(_ context.Context, op, _ string) error {
			if op == "get" {
				time.Sleep(time.Minute)
			}
			return nil
		}}
		in := newInstance(s)
		got := make(chan error, 1)
		go func() {
			_, _, err := in.Get(t.Context(), "k")
			got <- err
		}()
		synctest.Wait()

		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := in.Close(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close during a call = %v, want its context's error", err)
		}
		if err := in.Set(t.Context(), "k", nil, 0); !errors.Is(err, ErrClosed) {
			t.Errorf("Set after Close = %v, want ErrClosed", err)
		}
		if s.closed.Load() != 0 {
			t.Error("the store was closed during a call")
		}
		if err := in.Close(t.Context()); err != nil {
			t.Errorf("the second Close = %v", err)
		}
		if err := <-got; err != nil {
			t.Errorf("the call that Close waited for = %v", err)
		}
		if n := s.closed.Load(); n != 1 {
			t.Errorf("the store was closed %d times", n)
		}
	})
}

func TestCloseEndsLeaseWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := newInstance(&fakeStore{})
		waited := make(chan error, 1)
		go func() { waited <- in.WaitLease(t.Context(), LeaseRequest{Key: "k"}) }()
		synctest.Wait()
		if err := in.Close(t.Context()); err != nil {
			t.Errorf("Close = %v", err)
		}
		if err := <-waited; !errors.Is(err, ErrClosed) {
			t.Errorf("WaitLease = %v, want ErrClosed", err)
		}
	})
}

func TestCallsAndCloseAtOnce(t *testing.T) {
	t.Parallel()
	for range 50 {
		s := &fakeStore{}
		s.before = func(_ context.Context, op, _ string) error {
			if op == "get" && s.closed.Load() > 0 {
				return errors.New("called after Close")
			}
			return nil
		}
		in := newInstance(s)
		results := make(chan error)
		for range 8 {
			go func() {
				for {
					if _, _, err := in.Get(context.Background(), "k"); err != nil {
						results <- err
						return
					}
				}
			}()
		}
		if err := in.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 8 {
			if err := <-results; !errors.Is(err, ErrClosed) {
				t.Fatalf("Get = %v, want ErrClosed", err)
			}
		}
	}
}

// A halfBatcher answers at most two keys at a time.
type halfBatcher struct {
	*fakeStore
	calls int
}

func (s *halfBatcher) GetMany(ctx context.Context, keys []string) ([]Lookup, error) {
	s.calls++
	var answers []Lookup
	for _, key := range keys[:min(2, len(keys))] {
		value, ok, err := s.Get(ctx, key)
		answers = append(answers, Lookup{value, ok, err})
	}
	return answers, nil
}

func (s *halfBatcher) SetMany(context.Context, []Entry) error { return nil }

func (s *halfBatcher) DeleteMany(context.Context, []string) (int, error) { return 0, nil }

func TestGetManyAnswersEveryKeyAndItsDuplicates(t *testing.T) {
	t.Parallel()
	filled := &fakeStore{entries: map[string][]byte{"a": []byte("A"), "c": []byte("C")}}
	for name, in := range map[string]*Instance{
		"without a Batcher":                newInstance(filled),
		"with one that stops after two":    newInstance(&halfBatcher{fakeStore: filled}),
		"with one that is not announced":   newInstance(bareStore{filled}),
		"with one that has been withdrawn": newInstance(&halfBatcher{fakeStore: &fakeStore{entries: filled.entries, traits: Traits{Withdrawn: []Capability{CanBatch}}}}),
	} {
		t.Run(name, func(t *testing.T) {
			keys := []string{"a", "b", "a", "c", "c", "d"}
			answers, err := in.GetMany(t.Context(), keys)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]string, len(answers))
			for i, a := range answers {
				got[i] = fmt.Sprintf("%s=%s,%v", keys[i], a.Value, a.OK)
			}
			want := []string{"a=A,true", "b=,false", "a=A,true", "c=C,true", "c=C,true", "d=,false"}
			if !slices.Equal(got, want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
		})
	}
}

func TestABatcherThatAnswersNothingFails(t *testing.T) {
	t.Parallel()
	in := newInstance(&emptyBatcher{&halfBatcher{fakeStore: &fakeStore{}}})
	if _, err := in.GetMany(t.Context(), []string{"a"}); !errors.Is(err, ErrInternal) {
		t.Errorf("GetMany = %v, want ErrInternal instead of asking for ever", err)
	}
}

type emptyBatcher struct{ *halfBatcher }

func (*emptyBatcher) GetMany(context.Context, []string) ([]Lookup, error) { return nil, nil }

func TestAnAnswerIsCutBeforeItOutgrowsAMessage(t *testing.T) {
	t.Parallel()
	big := bytes.Repeat([]byte("x"), wire.MaxBatch/2)
	in := newInstance(&fakeStore{entries: map[string][]byte{"a": big, "b": big, "c": big}})
	some, err := in.getSome(t.Context(), []string{"a", "b", "c"})
	if err != nil || len(some) != 2 {
		t.Errorf("getSome = %d answers, %v, want 2", len(some), err)
	}
	all, err := in.GetMany(t.Context(), []string{"a", "b", "c", "a"})
	if err != nil || len(all) != 4 {
		t.Errorf("GetMany = %d answers, %v, want 4", len(all), err)
	}
}

func TestErrorsCountWhereAnAnswerIsCut(t *testing.T) {
	t.Parallel()
	in := newInstance(&fakeStore{before: func(context.Context, string, string) error { return errors.New("no") }})
	keys := make([]string, wire.MaxBatchKeys)
	for i := range keys {
		keys[i] = fmt.Sprint(i)
	}
	some, err := in.getSome(t.Context(), keys)
	if err != nil || len(some)*wire.MaxErrorText > wire.MaxBatch {
		t.Errorf("getSome = %d failures in one answer, %v", len(some), err)
	}
}

func TestOfTwoEntriesWithOneKeyTheLaterCounts(t *testing.T) {
	t.Parallel()
	s := &fakeStore{}
	in := newInstance(s)
	err := in.SetMany(t.Context(), []Entry{{Key: "a", Value: []byte("1")}, {Key: "b", Value: []byte("2")}, {Key: "a", Value: []byte("3")}})
	if err != nil || string(s.entries["a"]) != "3" || string(s.entries["b"]) != "2" {
		t.Errorf("SetMany = %v, entries %q", err, s.entries)
	}
	if n, err := in.DeleteMany(t.Context(), []string{"a", "a", "x", "b"}); n != 2 || err != nil {
		t.Errorf("DeleteMany = %d, %v, want 2", n, err)
	}
}

func TestABatchNamesTheKeysThatFailed(t *testing.T) {
	t.Parallel()
	in := newInstance(&fakeStore{before: func(_ context.Context, op, key string) error {
		if key == "bad" {
			return fmt.Errorf("%w: on purpose", ErrUnavailable)
		}
		return nil
	}})
	for name, err := range map[string]error{
		"SetMany":    in.SetMany(t.Context(), []Entry{{Key: "good"}, {Key: "bad"}}),
		"DeleteMany": func() error { _, err := in.DeleteMany(t.Context(), []string{"good", "bad"}); return err }(),
	} {
		failed, ok := errors.AsType[*BatchError](err)
		if !ok || len(failed.Failed) != 1 || failed.Failed[0].Key != "bad" || !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s = %v, want a BatchError of the key bad that matches ErrUnavailable", name, err)
		}
	}
}

func TestKeysThatNobodyCanAskForAreNotListed(t *testing.T) {
	t.Parallel()
	in := newInstance(&fakeStore{entries: map[string][]byte{"good": nil, "\xff": nil, "": nil, "a\x00b": nil}})
	keys, _, err := in.Keys(t.Context(), "", nil, 0)
	if err != nil || !slices.Equal(keys, []string{"good"}) {
		t.Errorf("Keys = %q, %v", keys, err)
	}
}

func TestADoneContextReachesNoStore(t *testing.T) {
	t.Parallel()
	in := newInstance(&fakeStore{before: func(context.Context, string, string) error { return errors.New("reached") }})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := in.Get(ctx, "k"); err != context.Canceled {
		t.Errorf("Get = %v, want context.Canceled", err)
	}
	if err := in.Set(ctx, "k", nil, 0); err != context.Canceled {
		t.Errorf("Set = %v, want context.Canceled", err)
	}
}
