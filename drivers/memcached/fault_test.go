package memcached

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

// behindProxy opens a store on a server that is reached through a proxy. The
// other store goes there directly.
func behindProxy(t testing.TB, settings ...setting) (s, direct *store, proxy *servertest.Proxy) {
	t.Helper()
	server := startServer(t)
	proxy = servertest.StartProxy(t, "tcp", server.Addr())
	return openTest(t, append([]setting{at(proxy.Addr())}, settings...)...), openTest(t, at(server.Addr())), proxy
}

// The server executes the command, and the connection breaks before it says so.
func TestAnAnswerIsLost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		cut   string // the command whose answer is lost
		call  func(ctx context.Context, s *store) error
		maybe bool   // the caller is told that nobody knows
		after string // what key holds then
	}{
		{"Add", "add key", func(ctx context.Context, s *store) error {
			s.Delete(ctx, "key")
			_, err := s.Add(ctx, "key", []byte("new"), time.Hour)
			return err
		}, true, "new"},
		{"Increment", "cas key", func(ctx context.Context, s *store) error {
			_, err := s.Increment(ctx, "key", 1, time.Hour)
			return err
		}, true, "42"},
		{"Increment of an absent counter", "add key", func(ctx context.Context, s *store) error {
			s.Delete(ctx, "key")
			_, err := s.Increment(ctx, "key", 1, time.Hour)
			return err
		}, true, "1"},
		{"Replace", "cas key", func(ctx context.Context, s *store) error {
			_, err := s.Replace(ctx, "key", []byte("new"), time.Hour)
			return err
		}, true, "new"},
		{"Pull", "cas key", func(ctx context.Context, s *store) error {
			_, _, err := s.Pull(ctx, "key")
			return err
		}, true, ""},
		{"Get", "gets key", func(ctx context.Context, s *store) error {
			_, _, err := s.Get(ctx, "key")
			return err
		}, false, "41"},
		{"Set", "set key", func(ctx context.Context, s *store) error {
			return s.Set(ctx, "key", []byte("new"), time.Hour)
		}, false, "new"},
		{"Delete", "delete key", func(ctx context.Context, s *store) error {
			_, err := s.Delete(ctx, "key")
			return err
		}, false, ""},
		{"Touch", "cas key", func(ctx context.Context, s *store) error {
			touched, err := s.Touch(ctx, "key", time.Hour)
			return want(touched, err)
		}, false, "41"},
		{"CompareDelete", "cas key", func(ctx context.Context, s *store) error {
			deleted, err := s.CompareDelete(ctx, "key", []byte("41"))
			return want(deleted, err)
		}, false, ""},
		{"GetMany", "gets key", func(ctx context.Context, s *store) error {
			found, err := s.GetMany(ctx, []string{"key", "other"})
			return errors.Join(err, found[0].Err, found[1].Err)
		}, false, "41"},
		{"SetMany", "set key", func(ctx context.Context, s *store) error {
			return s.SetMany(ctx, []sdk.Entry{{Key: "other"}, {Key: "key", Value: []byte("new")}, {Key: "third"}})
		}, false, "new"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, direct, proxy := behindProxy(t)
			set(t, s, "key", "41", time.Hour)
			trap := proxy.CutNextReply(test.cut, 0)
			err := test.call(t.Context(), s)
			if trap.Count() != 1 {
				t.Fatalf("%d answers were cut; the call says %v", trap.Count(), err)
			}
			if test.maybe {
				fails(t, err, sdk.ErrMaybeApplied)
			} else if err != nil {
				t.Errorf("the call was not repeated: %v", err)
			}
			if errors.Is(err, sdk.ErrUnavailable) {
				t.Errorf("%v says that nothing was applied", err)
			}
			holds(t, direct, "key", test.after)
			set(t, s, "key", "next", time.Hour)
			holds(t, s, "key", "next")
		})
	}
}

// want makes an error of a no.
func want(yes bool, err error) error {
	if err == nil && !yes {
		err = errors.New("the answer is no")
	}
	return err
}

func TestAnAnswerIsLostEveryTime(t *testing.T) {
	t.Parallel()
	s, _, proxy := behindProxy(t)
	set(t, s, "key", "old", time.Hour)
	sets, gets := proxy.CutReplies("set key", 0), proxy.CutReplies("gets key", 0)
	fails(t, s.Set(t.Context(), "key", []byte("new"), time.Hour), sdk.ErrMaybeApplied)
	_, _, err := s.Get(t.Context(), "key")
	fails(t, err, sdk.ErrUnavailable)
	if sets.Count() != mostLosses || gets.Count() != mostLosses {
		t.Errorf("%d sets and %d gets were sent, want %d of each", sets.Count(), gets.Count(), mostLosses)
	}
	proxy.Heal(t)
	holds(t, s, "key", "new")
}

// A connection that has been closed while nobody used it is no reason to be in
// doubt.
func TestAConnectionThatHasBeenClosedIsReplaced(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	proxy := servertest.StartProxy(t, "tcp", server.Addr())
	s := openTest(t, at(proxy.Addr()), connections(1))
	for i := range 10 {
		set(t, s, "before", "v", time.Hour)
		if i%2 == 0 {
			server.Restart(t)
		} else {
			proxy.Reset()
		}
		eventually(t, "the news are here", func() bool { return !standing(s) })
		added, err := s.Add(t.Context(), fmt.Sprint("key", i), []byte("v"), time.Hour)
		if !added || err != nil {
			t.Errorf("time %d: %v, %v", i, added, err)
		}
	}
}

// standing tells whether the connection of a store that has one still stands.
func standing(s *store) bool {
	srv := s.ring[0].server
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return len(srv.idle) == 0 || srv.idle[0].link.stands()
}

func TestACallerLeavesAServerThatIsSilent(t *testing.T) {
	t.Parallel()
	s, direct, proxy := behindProxy(t, connections(1))
	set(t, s, "key", "41", time.Hour)
	proxy.HoldReplies("")
	soon := 50 * time.Millisecond
	call := func(name string, maybe bool, do func(ctx context.Context) error) {
		t.Helper()
		start := time.Now()
		err := do(within(t, soon))
		fails(t, err, context.DeadlineExceeded)
		if errors.Is(err, sdk.ErrMaybeApplied) != maybe {
			t.Errorf("%s: %v; it may have been applied: %v", name, err, maybe)
		}
		if took := time.Since(start); took > patience/2 {
			t.Errorf("%s left after %v", name, took)
		}
	}
	call("Set", true, func(ctx context.Context) error { return s.Set(ctx, "key", []byte("42"), time.Hour) })
	// the connection is taken now; what waits for it has not been sent
	call("another Set", false, func(ctx context.Context) error { return s.Set(ctx, "key", []byte("43"), time.Hour) })
	call("Get", false, func(ctx context.Context) error { _, _, err := s.Get(ctx, "key"); return err })
	call("Increment", false, func(ctx context.Context) error { _, err := s.Increment(ctx, "key", 1, time.Hour); return err })
	call("Add", false, func(ctx context.Context) error { _, err := s.Add(ctx, "new", nil, time.Hour); return err })
	call("GetMany", false, func(ctx context.Context) error { _, err := s.GetMany(ctx, []string{"key", "new"}); return err })
	call("SetMany", false, func(ctx context.Context) error { return s.SetMany(ctx, []sdk.Entry{{Key: "key"}, {Key: "new"}}) })
	holds(t, direct, "key", "42")
	holds(t, direct, "new", "")

	open := proxy.Connections()
	proxy.Heal(t)
	eventually(t, "the store works again", func() bool { _, _, err := s.Get(within(t, time.Second), "key"); return err == nil })
	time.Sleep(50 * time.Millisecond)
	holds(t, direct, "key", "42") // nothing was sent for those who had left
	if now := proxy.Connections(); now != open {
		t.Errorf("there were %d connections, now there are %d: a caller that leaves costs none", open, now)
	}
}

func TestACancelledCallEndsAtOnce(t *testing.T) {
	t.Parallel()
	s, _, proxy := behindProxy(t)
	set(t, s, "key", "41", time.Hour)
	trap := proxy.HoldReplies("cas key")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-trap.Sprung()
		cancel()
	}()
	_, err := s.Increment(ctx, "key", 1, time.Hour)
	fails(t, err, context.Canceled)
	fails(t, err, sdk.ErrMaybeApplied)
	proxy.Heal(t)
	eventually(t, "the swap has been made", func() bool {
		value, _, err := s.Get(t.Context(), "key")
		must(t, err)
		return string(value) == "42"
	})
}

// Nobody has said how long to wait: the stall timeout ends it.
func TestASilentServerCountsAsDown(t *testing.T) {
	t.Parallel()
	s, _, proxy := behindProxy(t, stallingAfter(200*time.Millisecond), dialingWithin(200*time.Millisecond))
	set(t, s, "key", "v", time.Hour)
	proxy.Stall()
	start := time.Now()
	_, err := s.Add(t.Context(), "new", nil, time.Hour)
	fails(t, err, sdk.ErrMaybeApplied, "no answer for 200ms")
	_, _, err = s.Get(t.Context(), "key")
	fails(t, err, sdk.ErrUnavailable, "left alone")
	eventually(t, "the server is tried again", func() bool {
		_, _, err = s.Get(t.Context(), "key")
		return strings.Contains(err.Error(), "no answer within 200ms") && !strings.Contains(err.Error(), "left alone")
	})
	if took := time.Since(start); took > patience/2 {
		t.Errorf("that took %v", took)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is taken for the caller's own deadline", err)
	}
	proxy.Heal(t)
	eventually(t, "the server is back", func() bool { _, _, err := s.Get(t.Context(), "key"); return err == nil })
	holds(t, s, "key", "v")
}

// All that is sent within a stall timeout must not be waited for longer than it.
func TestALargeValueOverASlowNetworkIsNoStall(t *testing.T) {
	t.Parallel()
	s, _, proxy := behindProxy(t, stallingAfter(time.Second), connections(1))
	proxy.Bandwidth(800 << 10)
	value := strings.Repeat("v", 1<<20-1<<10) // more than a second
	set(t, s, "key", value, time.Hour)
	holds(t, s, "key", value)
}

func TestCallersThatLeaveLeaveNobodyBehind(t *testing.T) {
	before := runtime.NumGoroutine()
	server := startServer(t)
	proxy := servertest.StartProxy(t, "tcp", server.Addr())
	s := openTest(t, at(proxy.Addr()), connections(4))
	set(t, s, "key", "v", time.Hour)
	quiet := runtime.NumGoroutine()
	proxy.HoldReplies("")
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for i := range 500 {
		callers.Go(func() {
			s.Get(ctx, "key")
			s.Set(ctx, strconv.Itoa(i), nil, time.Hour)
		})
	}
	time.Sleep(50 * time.Millisecond)
	cancel()
	callers.Wait()
	// a worker for each connection, and what the proxy needs for it
	if now := runtime.NumGoroutine(); now > quiet+4*10 {
		t.Errorf("%d goroutines before 500 callers came and went, %d after", quiet, now)
	}
	must(t, s.Close()) // with exchanges under way
	server.Stop(t)
	eventually(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before+5 })
}

func TestTooManyCallersAreTurnedAway(t *testing.T) {
	t.Parallel()
	s, _, proxy := behindProxy(t, connections(1))
	set(t, s, "key", "v", time.Hour)
	proxy.HoldReplies("")
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	var turnedAway atomic.Int64
	for range mostWaiting + 500 {
		callers.Go(func() {
			err := s.Set(ctx, "key", nil, time.Hour)
			if errors.Is(err, sdk.ErrOverloaded) {
				turnedAway.Add(1)
				return
			}
			fails(t, err, context.Canceled)
		})
	}
	eventually(t, "some are turned away", func() bool { return turnedAway.Load() >= 1 })
	cancel()
	callers.Wait()
	proxy.Heal(t)
	holds(t, s, "other", "") // there is room again
}

func TestARestartUnderLoad(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	s := openTest(t, at(server.Addr()))
	done := make(chan struct{})
	var callers sync.WaitGroup
	var worked, failed atomic.Int64
	for c := range 16 {
		callers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				start := time.Now()
				err := someCall(t.Context(), s, n, fmt.Sprint("key", c))
				switch {
				case err == nil:
					worked.Add(1)
				case errors.Is(err, sdk.ErrUnavailable) || errors.Is(err, sdk.ErrMaybeApplied):
					failed.Add(1)
				default:
					t.Errorf("an error of another kind: %v", err)
				}
				if took := time.Since(start); took > patience/2 {
					t.Errorf("a call took %v", took)
				}
			}
		})
	}
	for range 5 {
		before := worked.Load()
		eventually(t, "calls work", func() bool { return worked.Load() > before+100 })
		server.Kill(t)
		time.Sleep(20 * time.Millisecond)
		server.Start(t)
	}
	before := worked.Load()
	eventually(t, "calls work", func() bool { return worked.Load() > before+100 })
	close(done)
	callers.Wait()
	t.Logf("%d calls worked, %d failed", worked.Load(), failed.Load())
}

// someCall is one call or another.
func someCall(ctx context.Context, s *store, n int, key string) (err error) {
	switch n % 5 {
	case 0:
		err = s.Set(ctx, key, []byte("v"), time.Hour)
	case 1:
		_, _, err = s.Get(ctx, key)
	case 2:
		_, err = s.Increment(ctx, key+"n", 1, time.Hour)
	case 3:
		_, err = s.Add(ctx, key+strconv.Itoa(n), nil, time.Second)
	case 4:
		_, err = s.Delete(ctx, key)
	}
	return err
}
