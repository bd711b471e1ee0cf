package memcached

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
)

// Reads that wait for a connection become one request.
func TestReadsThatComeTogetherFlyTogether(t *testing.T) {
	t.Parallel()
	tp := startTape(t, startServer(t).Addr())
	proxy := servertest.StartProxy(t, "tcp", tp.addr)
	s := openTest(t, at(proxy.Addr()), connections(1))
	keys, entries := entriesOf(40)
	must(t, s.SetMany(t.Context(), entries))
	tp.played()
	trap := proxy.HoldReplies("gets first")
	var callers sync.WaitGroup
	callers.Go(func() { holds(t, s, "first", "") })
	<-trap.Sprung()
	for i := range 50 { // some of them for the same key
		callers.Go(func() { holds(t, s, keys[i%40], "of "+keys[i%40]) })
	}
	callers.Go(func() { holds(t, s, "absent", "") })
	eventually(t, "all of them wait", func() bool {
		s.ring[0].server.mu.Lock()
		defer s.ring[0].server.mu.Unlock()
		return s.ring[0].server.lookups.size() == 51
	})
	proxy.Heal(t)
	callers.Wait()
	commands := tp.played()
	if len(commands) != 2 || len(strings.Fields(commands[1])) != 1+41 {
		t.Errorf("the requests are %.300q; want one, and one for 41 keys", commands)
	}
}

// A write that is lost with others is repeated with those that were lost only.
func TestAConvoyThatIsCutIsRepeatedFromThere(t *testing.T) {
	t.Parallel()
	tp := startTape(t, startServer(t).Addr())
	proxy := servertest.StartProxy(t, "tcp", tp.addr)
	s := openTest(t, at(proxy.Addr()), connections(1))
	must(t, s.Ping(t.Context()))
	keys, entries := entriesOf(10)
	proxy.CutNextReply(keys[0], len("STORED\r\n")*4) // four answers arrive
	must(t, s.SetMany(t.Context(), entries))
	sets := 0
	for _, command := range tp.played() {
		if strings.HasPrefix(command, "set ") {
			sets++
		}
	}
	if sets != 10+6 {
		t.Errorf("%d sets were sent, want all 10 and then the 6 without an answer", sets)
	}
	for _, key := range keys {
		holds(t, s, key, "of "+key)
	}
}

func TestWritesAndReadsWaitForEachOthersTurnOnly(t *testing.T) {
	t.Parallel()
	s, _ := openAt(t, connections(1))
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	defer readers.Wait()
	defer cancel()
	for i := range 32 {
		readers.Go(func() {
			for ctx.Err() == nil {
				s.Get(ctx, fmt.Sprint("k", i))
			}
		})
	}
	for i := range 100 {
		must(t, s.Set(within(t, patience), fmt.Sprint("k", i), nil, time.Hour))
	}
}

// Large values make flights narrow, small ones wide again.
func TestFlightsAdapt(t *testing.T) {
	t.Parallel()
	s := newServer(settings{connections: 1}, address{})
	full := func(bytes int) *flight { return &flight{lookups: make([]*lookup, s.width), bytes: bytes} }
	s.adapt(full(64 * heavy))
	for range 10 {
		s.adapt(full(2 * heavy))
	}
	if s.width != 1 {
		t.Errorf("after heavy flights %d fly together", s.width)
	}
	for range 10 {
		s.adapt(full(100))
	}
	if s.width != widest || s.widthNow() != widest {
		t.Errorf("after light flights %d fly together", s.width)
	}
	for limit, want := range map[int64]int{1 << 20: widest, 16 << 20: 4, 1 << 30: 1} {
		s.limit.Store(limit)
		if got := s.widthNow(); got != want {
			t.Errorf("where items have up to %d bytes, %d fly together, want %d", limit, got, want)
		}
	}
}

func TestABacklogForgetsThoseWhoLeave(t *testing.T) {
	t.Parallel()
	var b backlog[*job]
	var jobs []*job
	for range 100 {
		jobs = append(jobs, &job{waiter: newWaiter()})
		b.push(jobs[len(jobs)-1])
	}
	all := func(*job) bool { return true }
	first := func(n int) func(*job) bool { return func(*job) bool { n--; return n >= 0 } }
	if got := b.take(first(10)); !slices.Equal(got, jobs[:10]) {
		t.Errorf("%d were taken", len(got))
	}
	leave := func(j *job) {
		j.fate.leave()
		b.forget(j)
	}
	leave(jobs[3]) // taken already
	for _, j := range jobs[10:90] {
		leave(j)
		leave(j)
	}
	if b.size() != 10 || len(b.waiting) > 60 {
		t.Errorf("10 wait; size %d, kept %d", b.size(), len(b.waiting))
	}
	jobs[95].fate.leave() // and hasn't said so yet
	got := b.take(all)
	b.forget(jobs[95])
	if want := append(slices.Clone(jobs[90:95]), jobs[96:]...); !slices.Equal(got, want) || b.size() != 0 {
		t.Errorf("%d were taken, want %d; size %d", len(got), len(want), b.size())
	}
	again := &job{waiter: newWaiter()}
	b.push(again)
	if got := b.take(all); len(got) != 1 || got[0] != again {
		t.Errorf("%d were taken, want 1", len(got))
	}
}

func TestTurnsAreForgotten(t *testing.T) {
	t.Parallel()
	var turns turns
	leave, err := turns.enter(t.Context(), "k")
	must(t, err)
	_, err = turns.enter(within(t, time.Millisecond), "k")
	fails(t, err, context.DeadlineExceeded)
	other, err := turns.enter(t.Context(), "other")
	must(t, err)
	leave()
	other()
	if len(turns.names) != 0 {
		t.Errorf("%d turns are kept", len(turns.names))
	}
}
