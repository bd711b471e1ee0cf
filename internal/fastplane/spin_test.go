package fastplane

import (
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// counted counts what is attempted.
func counted(a *attempt) *atomic.Int64 {
	n, direction := new(atomic.Int64), a.direction
	a.direction = func(f func(uintptr) bool) error {
		n.Add(1)
		return direction(f)
	}
	return n
}

// A driver whose host calls now and then polls as often as its wager says, and
// then sleeps: between calls, and after the last.
func TestADriverThatIsCalledNowAndThenSleeps(t *testing.T) {
	t.Parallel()
	socket, driver := ends(t)
	s, err := NewServer(driver, &mirror{manner: Inline})
	must(t, err)
	s.spin.most = math.MaxInt32 // whoever polls in other tests
	polls := counted(s.in.reader)
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	must(t, socket.SetDeadline(time.Now().Add(hangGuard)))
	host := newPlayer(t, socket)

	model, want := newSpin(true).wager, int64(0)
	for id := range uint64(200) {
		if model.take() {
			want += spinPolls
			model.lost()
		}
		eventually(t, "the driver sleeps", func() bool { return polls.Load() == want })
		host.write(t, get(id, "10:"))
		host.next(t)
	}
	must(t, socket.Close())
	must(t, await(t, done))
	if n := polls.Load(); n > want+spinPolls {
		t.Errorf("the driver polled %d times, %d expected", n, want)
	}
	if most := int64(20 * spinPolls); want > most {
		t.Errorf("%d polls in 200 waits that were long", want)
	}
}

// A caller whose answer takes its time polls for a moment, and sleeps.
func TestACallerWhoseAnswerIsSlowSleeps(t *testing.T) {
	t.Parallel()
	c, peer := played(t)
	polls := counted(c.in.reader)
	call := c.begin(t.Context(), Request{Op: OpGet, Key: "k"})
	id := peer.next(t).id
	eventually(t, "the reader has taken over", func() bool {
		return len(c.needed) == 0 && c.leading.Load() && c.slots[0].patience.Load() == patienceOver
	})
	eventually(t, "nobody polls", func() bool {
		n := polls.Load()
		time.Sleep(5 * time.Millisecond)
		return polls.Load() == n
	})
	if n := polls.Load(); n > 2*spinPolls { // by the caller, then by the reader
		t.Errorf("%d polls for one answer", n)
	}
	peer.write(t, whole(kindAnswer, uint8(StatusYes), id, "v"))
	checkValue(t, call, "v")
}

// asking makes a client with one call under way, whose driver the test plays; nobody
// reads for it.
func asking(t *testing.T) (c *Client, s *slot, peer *player) {
	t.Helper()
	c, peer = played(t)
	c.spin.most, c.crowd.most = math.MaxInt32, math.MaxInt32
	s, err := c.acquire(t.Context(), limits{}, true)
	must(t, err)
	_, err = c.send(t.Context(), s, &Request{Op: OpGet, Key: "k"})
	must(t, err)
	peer.next(t)
	return c, s, peer
}

func (w *player) answer(t *testing.T, s *slot) {
	w.write(t, whole(kindAnswer, uint8(StatusYes), s.id(), "v"))
}

func TestACallerThatPollsLearns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answers bool
		others  int32
		polls   int64
		credit  int
		done    bool
	}{
		"the answer is there":      {answers: true, polls: 1, credit: 5, done: true},
		"no answer comes":          {polls: spinPolls, credit: 2},
		"others call at that time": {others: 1, polls: 1, credit: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, s, peer := asking(t)
			c.spin.wager = wager{stake: 2, credit: 4}
			must(t, c.limit(time.Now().Add(-time.Hour))) // as the last caller has left it
			polls := counted(c.in.reader)
			if test.answers {
				peer.answer(t, s)
			}
			c.pending.Add(test.others)
			must(t, c.pollFor(s))
			if n := polls.Load(); n != test.polls || c.spin.credit != test.credit || s.is(phaseDone) != test.done {
				t.Errorf("%d polls, credit %d, done %v; want %+v", n, c.spin.credit, s.is(phaseDone), test)
			}
		})
	}
}

func TestAReaderThatPollsForManyLearns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answers bool
		calls   int32 // under way
		polls   int64
		credit  int
	}{
		"the answer is there":    {answers: true, calls: 2, polls: 1, credit: 5},
		"it is one of many":      {answers: true, calls: 9, polls: 1, credit: 2},
		"no answer comes":        {calls: 2, polls: spinPolls, credit: 2},
		"there is nothing to do": {calls: 0, polls: 0, credit: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, s, peer := asking(t)
			c.crowd.wager = wager{stake: 2, credit: 4}
			polls := counted(c.in.reader)
			if test.answers {
				peer.answer(t, s)
			}
			c.pending.Store(test.calls)
			came, err := c.pollForMany()
			if must(t, err); came != test.answers || polls.Load() != test.polls || c.crowd.credit != test.credit {
				t.Errorf("came %v, %d polls, credit %d; want %+v", came, polls.Load(), c.crowd.credit, test)
			}
		})
	}
}

func TestADriverPollsWhileItHasNothingElseToDo(t *testing.T) {
	t.Parallel()
	for _, jobs := range []int32{0, 1} {
		host, driver := ends(t)
		s, err := NewServer(driver, &mirror{manner: Inline})
		must(t, err)
		t.Cleanup(func() { _ = driver.Close(); s.out.close() })
		s.spin.most, s.spin.wager = math.MaxInt32, wager{stake: 2, credit: 4}
		polls := counted(s.in.reader)
		s.active.Store(jobs)
		newPlayer(t, host).write(t, get(1, "k"))
		must(t, s.fill())
		if n, credit := polls.Load(), s.spin.credit; n != int64(1-jobs) || credit != 5-int(jobs) {
			t.Errorf("beside %d jobs: %d polls, credit %d", jobs, n, credit)
		}
	}
}

// Of the readers of one process a few poll at once.
func TestFewReadersPollAtOnce(t *testing.T) {
	spins := make([]spin, 8)
	polling := 0
	for i := range spins {
		spins[i] = newSpin(false)
		if spins[i].begin() {
			defer spins[i].end()
			polling++
		}
	}
	if most := max(1, runtime.GOMAXPROCS(0)/2); runtime.NumCPU() > 1 && polling != most || polling > most {
		t.Errorf("%d readers poll at once", polling)
	}
}

// However much it wins, an end that tires sleeps every now and then; another
// needn't, and one that has waited for something else has slept.
func TestAReaderThatTiresSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, test := range map[string]struct {
			tires, rests bool
			sleeps       int
		}{"tires": {tires: true, sleeps: 9}, "never": {}, "rests": {tires: true, rests: true}} {
			s := spin{wager: wager{stake: 2, credit: maxCredit}, most: math.MaxInt32, tires: test.tires}
			sleeps := 0
			for range 3000 {
				time.Sleep(10 * time.Microsecond)
				if test.rests {
					s.rested()
				}
				if !s.begin() {
					sleeps++
					continue
				}
				s.won()
				s.end()
			}
			if short := max(0, test.sleeps-sleeps); short > 1 || sleeps > 3000*10/2000 {
				t.Errorf("%s: it slept %d times in 30 ms", name, sleeps)
			}
			if test.sleeps == 0 && sleeps > 0 {
				t.Errorf("%s: it slept %d times", name, sleeps)
			}
		}
	})
}
