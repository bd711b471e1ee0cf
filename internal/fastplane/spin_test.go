package fastplane

import (
	"math"
	"sync/atomic"
	"testing"
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
