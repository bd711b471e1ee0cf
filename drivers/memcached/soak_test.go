//go:build soak

package memcached

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

func TestSoakLifetimes(t *testing.T) {
	t.Parallel()
	s, _ := openAt(t)
	for range 20 {
		lifetimes(t, s, 2000, 6*time.Second)
	}
}

func TestSoakValuesAreNotMixedUp(t *testing.T) {
	t.Parallel()
	_, addrs := startServers(t, 5)
	mixed(t, openTest(t, at(addrs...)), 64, 5000)
}

// Servers die, freeze and come back, and the network breaks, while callers
// work. Every call ends in time, with one of the errors that say what to think.
func TestSoakFaults(t *testing.T) {
	before := runtime.NumGoroutine()
	servers, addrs := startServers(t, 3)
	proxy := servertest.StartProxy(t, "tcp", addrs[0])
	addrs[0] = proxy.Addr()
	s := openTest(t, at(addrs...), stallingAfter(500*time.Millisecond), dialingWithin(500*time.Millisecond))
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	var worked, failed atomic.Int64
	for c := range 32 {
		callers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				start := time.Now()
				err := someCall(t.Context(), s, n, fmt.Sprint("key", c))
				if took := time.Since(start); took > 20*time.Second {
					t.Errorf("a call took %v", took)
				}
				switch {
				case err == nil:
					worked.Add(1)
				case errors.Is(err, sdk.ErrUnavailable) || errors.Is(err, sdk.ErrMaybeApplied):
					failed.Add(1)
				default:
					t.Errorf("an error of another kind: %v", err)
				}
			}
		})
	}
	faults := []func(){
		func() { servers[1].Kill(t); time.Sleep(100 * time.Millisecond); servers[1].Start(t) },
		func() { servers[2].Freeze(t); time.Sleep(time.Second); servers[2].Thaw(t) },
		func() { proxy.Reset() },
		func() { proxy.CutReplies("cas", 0); time.Sleep(200 * time.Millisecond); proxy.Heal(t) },
		func() { proxy.Stall(); time.Sleep(time.Second); proxy.Heal(t) },
		func() { proxy.Refuse(); time.Sleep(300 * time.Millisecond); proxy.Heal(t) },
		func() { proxy.Latency(20 * time.Millisecond); time.Sleep(time.Second); proxy.Heal(t) },
	}
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); {
		for _, fault := range faults {
			fault()
			last := worked.Load()
			eventually(t, "calls work again", func() bool { return worked.Load() > last+1000 && s.Ping(t.Context()) == nil })
		}
	}
	cancel()
	callers.Wait()
	t.Logf("%d calls worked, %d failed", worked.Load(), failed.Load())
	if open := proxy.Connections(); open > 8 {
		t.Errorf("there are %d connections to a server", open)
	}
	must(t, s.Close())
	proxy.Refuse()
	eventually(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before+20 })
}

// Many stores compete for one lock: it has one holder at a time, and the fence
// rises from each to the next.
func TestSoakLocks(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	var inside, violations, granted atomic.Int64
	var last atomic.Uint64
	var contenders sync.WaitGroup
	end := time.Now().Add(time.Minute)
	for c := range 16 {
		s := openTest(t, at(server.Addr()))
		contenders.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				q := exclusive(fmt.Sprintf("%d-%d", c, n), time.Minute)
				g, err := s.AcquireLease(t.Context(), q)
				if err != nil || !g.OK {
					time.Sleep(time.Millisecond)
					continue
				}
				granted.Add(1)
				if inside.Add(1) != 1 || last.Swap(g.Fence) >= g.Fence {
					violations.Add(1)
				}
				inside.Add(-1)
				if released, err := s.ReleaseLease(t.Context(), q); !released || err != nil {
					t.Errorf("release: %v, %v", released, err)
				}
			}
		})
	}
	contenders.Wait()
	t.Logf("%d grants", granted.Load())
	if violations.Load() != 0 || granted.Load() == 0 {
		t.Errorf("%d violations in %d grants", violations.Load(), granted.Load())
	}
}

// 64 callers do at least 1.2 times what they do with gomemcache directly.
func TestSoakThroughputAgainstGomemcache(t *testing.T) {
	r := startRivals(t, "tcp")
	for work, floor := range map[string]float64{"get": 1.2, "set": 1} {
		throughput, _ := r.compare(t, work, 64, 20)
		t.Logf("%s: %.2f times", work, throughput)
		if throughput < floor {
			t.Errorf("%s: %.2f times, want at least %.1f", work, throughput, floor)
		}
	}
}
