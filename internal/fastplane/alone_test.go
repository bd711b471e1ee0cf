package fastplane

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
)

// A pair is a handler whose first call ends once the second was made.
type pair struct {
	mirror
	begun, second chan struct{}
}

func (p *pair) Handle(_ context.Context, r *Request) (a Answer) {
	if r.Key == "first" {
		close(p.begun)
		<-p.second
	} else {
		close(p.second)
	}
	a.Say(true)
	a.Value = []byte(r.Key)
	return a
}

// A call that is alone is the reader's own; others must come through all the
// same while it takes its time.
func TestACallThatTakesLongHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for range 30 {
		for _, manner := range []Manner{Apart, Together} {
			p := &pair{mirror: mirror{manner: manner}, begun: make(chan struct{}), second: make(chan struct{})}
			s, host, done := serving(t, p)
			host.write(t, get(1, "first"))
			await(t, p.begun)
			host.write(t, get(2, "second"))
			got := map[string]bool{string(host.next(t).part): true}
			got[string(host.next(t).part)] = true
			if !got["first"] || !got["second"] {
				t.Errorf("answered: %v", got)
			}
			must(t, host.Close())
			must(t, await(t, done))
			if s.alone.credit > 0 || s.active.Load() != 0 {
				t.Errorf("credit %d, %d jobs", s.alone.credit, s.active.Load())
			}
		}
	}
}

// A stubborn call doesn't care whether anybody waits for it.
type stubborn struct {
	mirror
	begun chan struct{}
	ended atomic.Bool
}

func (h *stubborn) Handle(context.Context, *Request) (a Answer) {
	close(h.begun)
	time.Sleep(30 * time.Millisecond)
	h.ended.Store(true)
	return a
}

func TestServeWaitsForACallThatIsAlone(t *testing.T) {
	t.Parallel()
	h := &stubborn{mirror: mirror{manner: Apart}, begun: make(chan struct{})}
	host, done := served(t, h)
	host.write(t, get(1, "k"))
	await(t, h.begun)
	must(t, host.Close())
	must(t, await(t, done))
	if !h.ended.Load() {
		t.Error("Serve has returned during a call")
	}
}

// Only a call without another beside it is made by the reader, which keeps
// nothing of it.
func TestACallIsAloneWhereNoOtherIsUnderWay(t *testing.T) {
	t.Parallel()
	s, err := unserved(t, &mirror{manner: Apart})
	must(t, err)
	start := func() {
		must(t, s.start(1, OpGet, bodyOf(&Request{Op: OpGet, Store: 1, Key: "10:"}), true))
	}
	s.alone.credit = maxCredit - 1
	if start(); !s.makeWaiting() || s.turn.call.Load() != 2 || s.alone.credit != maxCredit {
		t.Errorf("%d calls were made alone, and the credit is %d", s.turn.call.Load()/2, s.alone.credit)
	}
	if kept := s.waiting[:1][0]; kept != nil {
		t.Error("the reader keeps the request")
	}
	s.active.Add(1)
	if start(); !s.makeWaiting() || s.turn.call.Load() != 2 {
		t.Error("a call was made alone beside another")
	}
	s.active.Add(-1)
	s.running.Wait()
}

// unserved makes a server that nobody reads for.
func unserved(t *testing.T, h Handler) (*Server, error) {
	_, driver := ends(t)
	s, err := NewServer(driver, h)
	if err == nil {
		t.Cleanup(func() { _ = driver.Close(); s.out.close() })
	}
	return s, err
}

// A sleeper's calls take about as long as it takes until another goroutine reads.
type sleeper struct{ mirror }

func (s *sleeper) Handle(_ context.Context, r *Request) (a Answer) {
	time.Sleep(time.Duration(rand.IntN(2400)) * time.Microsecond)
	a.Say(true)
	a.Value = []byte(r.Key)
	return a
}

// The call may end at the moment in which another goroutine comes to read
// instead: one of the two goes on.
func TestOneReaderIsLeftWhenACallEnds(t *testing.T) {
	t.Parallel()
	for n := range 60 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			c := connected(t, &sleeper{mirror{manner: Apart}})
			for i := range 30 {
				key := fmt.Sprintf("%d:%d", n, i)
				checkValue(t, c.begin(context.Background(), Request{Op: OpGet, Store: 1, Key: key}), key)
			}
			checkIdle(t, c)
		})
	}
}

// The goroutine that makes the call is the one that Serve was called on: the end
// of the plane ends the call's context all the same.
func TestTheEndOfThePlaneEndsACallThatIsAlone(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*testing.T, *Server, *player){
		"the host goes away":    func(t *testing.T, _ *Server, host *player) { must(t, host.Close()) },
		"the driver is stopped": func(t *testing.T, s *Server, _ *player) { s.Close(t.Context()) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(Apart)
			s, host, done := serving(t, d)
			host.write(t, get(1, "waits"))
			await(t, d.seen)
			end(t, s, host)
			must(t, await(t, done))
			if err := await(t, d.ended); !errors.Is(err, context.Canceled) {
				t.Errorf("the call's context said %v", err)
			}
		})
	}
}

// A quitter ends the goroutine of a call.
type quitter struct{ mirror }

func (q *quitter) Handle(_ context.Context, r *Request) (a Answer) {
	if r.Key == "quits" {
		runtime.Goexit()
	}
	a.Say(true)
	a.Value = []byte(r.Key)
	return a
}

func (q *quitter) Together(ctx context.Context, rs []*Request) (answers []Answer) {
	for _, r := range rs {
		answers = append(answers, q.Handle(ctx, r))
	}
	return answers
}

// Code of a driver that ends the goroutine it runs on ends its own call, or the
// plane where the goroutine was the reader's; nobody waits for either.
func TestACallThatEndsItsGoroutineIsAnswered(t *testing.T) {
	t.Parallel()
	for _, manner := range []Manner{Apart, Together} {
		host, _ := served(t, &quitter{mirror{manner: manner}})
		host.write(t, get(1, "quits"), get(2, "quits"))
		for range 2 {
			f := host.next(t)
			a, err := parseAnswer(OpGet, Status(f.code), f.part)
			if err != nil || !errors.Is(a.Failure.Err(), wire.ErrInternal) {
				t.Errorf("answered with %v, %v", a.Failure.Err(), err)
			}
		}
		host.write(t, get(1, "k"))
		if f := host.next(t); string(f.part) != "k" {
			t.Errorf("the next call was answered with %q", f.part)
		}
	}
	for _, manner := range []Manner{Apart, Together, Inline} {
		host, done := served(t, &quitter{mirror{manner: manner}})
		host.write(t, get(1, "quits"))
		if err := await(t, done); !errors.Is(err, wire.ErrInternal) {
			t.Errorf("Serve returned %v", err)
		}
	}
}

// Calls that take long are not tried on the reader again soon, nor are those
// that others had to wait for.
func TestWhatMakesACallKeepItsOwnGoroutine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		took         time.Duration
		others, wins bool
	}{{0, false, true}, {briefCall, false, false}, {0, true, false}} {
		host, driver := ends(t)
		in, err := newInbox(driver)
		must(t, err)
		if test.others {
			newPlayer(t, host).write(t, get(1, "k"))
		}
		s := &Server{in: in, alone: wager{stake: maxCredit, credit: maxCredit - 1}}
		want := 0
		if test.wins {
			want = maxCredit
		}
		if s.learn(test.took); s.alone.credit != want || s.ahead != test.others {
			t.Errorf("%+v: credit %d, ahead %v", test, s.alone.credit, s.ahead)
		}
	}
}
