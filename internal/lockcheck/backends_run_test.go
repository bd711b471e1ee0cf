package lockcheck

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// backends are all that the strategy exclusive works on.
var backends = map[string]func(testing.TB) backend{
	"file":      fileBackend,
	"memory":    memoryBackend,
	"database":  databaseBackend,
	"redis":     redisBackend,
	"cluster":   clusterBackend,
	"memcached": memcachedBackend,

	"file over grpc":  overGRPC(fileBackend),
	"redis over grpc": overGRPC(redisBackend),
}

// contended is one lock that everybody wants.
func contended() Load {
	return Load{
		Goroutines: 4, Keys: []string{"wanted"}, Lease: lease, Hold: 3 * time.Millisecond, Pause: 2 * time.Millisecond,
		Overstay: 0.002, GiveUp: 0.2, Seed: rand.Uint64(),
	}
}

// together is a few locks of which everybody wants several at once.
func together() Load {
	l := contended()
	l.Keys, l.Together = []string{"a", "b", "c", "d"}, 3
	return l
}

// apart is a lock for everybody.
func apart() Load {
	l := contended()
	l.Apart, l.Hold, l.Pause = true, time.Millisecond, time.Millisecond
	return l
}

// run runs.
func (b backend) run(t *testing.T, r Run) Result {
	t.Helper()
	r.Worker, r.Processes = workers(t, b.store, b.transport), b.processes
	result, err := r.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := result.History.Summary()
	t.Logf("%d acquisitions in %v, %d contended, %d lost, %d died, %d releases failed; entered in %v, handed over in %v, to other processes in %v; missed %v, trouble %v, faults %v",
		s.Acquisitions, result.Took, s.Contended, s.Lost, s.Died, s.Failed, s.Entering, s.HandOver, s.Across, result.Missed, result.Trouble, result.Faults)
	return result
}

// check runs and judges.
func (b backend) check(t *testing.T, r Run) Result {
	t.Helper()
	result := b.run(t, r)
	found := Check(result.History, Rules{Losses: result.Losses, News: lease/3 + b.slack})
	for _, v := range found[:min(len(found), 5)] {
		t.Error(v)
	}
	if len(found) > 0 {
		t.Errorf("seed %d: %d violations", r.Load.Seed, len(found))
	}
	return result
}

func TestExclusiveIsALockUnderFaults(t *testing.T) {
	t.Parallel()
	for name, start := range backends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			result := b.check(t, Run{Load: contended(), Acquisitions: 200, Faults: b.few(), Calm: 100 * time.Millisecond, Limit: 5 * time.Minute})
			// A frozen holder, one with a frozen driver, and one that was killed or
			// whose driver took its lock along.
			if s := result.History.Summary(); s.Lost+s.Died < 3 {
				t.Errorf("%d holders lost their lock and %d died: the faults did not reach them", s.Lost, s.Died)
			}
		})
	}
}

func TestExclusiveIsALockForMany(t *testing.T) {
	t.Parallel()
	for name, start := range backends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.processes = min(b.processes, 2)
			b.check(t, Run{Load: together(), Acquisitions: 200, Limit: 5 * time.Minute})
			b.check(t, Run{Load: apart(), Acquisitions: 200, Limit: 5 * time.Minute})
		})
	}
}

// A record that is lost lets a second holder in, and the first one hears of it
// by its next renewal.
func TestRedisWithoutADiskAnnouncesItsLosses(t *testing.T) {
	t.Parallel()
	b := forgetfulRedisBackend(t)
	b.check(t, Run{Load: contended(), Acquisitions: 100, Faults: append(b.faults, b.faults...), Calm: 100 * time.Millisecond, Limit: 5 * time.Minute})
}

// Redlock excludes nobody for sure: a check that found nothing would be blind.
func TestS75RedlockLetsHoldersOverlap(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"redis", "memcached"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			load := contended()
			load.Strategy = "redlock"
			result := backends[name](t).run(t, Run{Load: load, Acquisitions: 200, Limit: 5 * time.Minute})
			overlaps := slices.ContainsFunc(Check(result.History, Rules{}), func(v Violation) bool { return v.Kind == Overlap })
			if !overlaps {
				t.Errorf("seed %d: no two of %d holders were inside at once", load.Seed, len(result.History))
			}
		})
	}
}
