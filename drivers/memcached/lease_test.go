package memcached

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

func wish(strategy, owner string, lease time.Duration) sdk.LeaseRequest {
	return sdk.LeaseRequest{Strategy: strategy, Key: "jobs", Owner: owner, Lease: lease}
}

func exclusive(owner string, lease time.Duration) sdk.LeaseRequest {
	return wish(sdk.StrategyExclusive, owner, lease)
}

func acquire(t *testing.T, s *store, q sdk.LeaseRequest) sdk.LeaseGrant {
	t.Helper()
	g, err := s.AcquireLease(t.Context(), q)
	must(t, err)
	return g
}

// recordIn reads a lock's record, and until when it is kept.
func recordIn(t *testing.T, direct *memcache.Client, q sdk.LeaseRequest) (r record, kept time.Time) {
	t.Helper()
	item, err := direct.Get(leaseName(q))
	must(t, err)
	e, err := readItem(item, isLease, q.Key)
	must(t, err)
	r, err = recordOf(e)
	must(t, err)
	return r, time.UnixMilli(e.deadline)
}

// near checks that at is at most a little after what it should be.
func near(t *testing.T, what string, at, least time.Time) {
	t.Helper()
	if at.Before(least) || at.After(least.Add(patience)) {
		t.Errorf("%s is %v, want %v", what, at, least)
	}
}

func TestTheFenceIsKeptForADayAfterTheLocksLastUse(t *testing.T) {
	t.Parallel()
	s, direct := openAt(t)
	q := exclusive("owner", time.Hour)
	start := time.Now()
	g := acquire(t, s, q)
	r, kept := recordIn(t, direct, q)
	near(t, "the end of the lease", time.UnixMicro(r.until), start.Add(time.Hour))
	near(t, "the end of the record", kept, start.Add(time.Hour+fenceLife))
	if r.owner != "owner" || r.fence != g.Fence {
		t.Errorf("the record is %+v for the grant %+v", r, g)
	}
	renewed, err := s.RenewLease(t.Context(), exclusive("owner", 2*time.Hour))
	must(t, err)
	if !renewed.OK || renewed.Fence != g.Fence {
		t.Errorf("the renewal is %+v", renewed)
	}
	_, kept = recordIn(t, direct, q)
	near(t, "the end of the renewed record", kept, start.Add(2*time.Hour+fenceLife))

	released, err := s.ReleaseLease(t.Context(), q)
	if !released || err != nil {
		t.Fatalf("release: %v, %v", released, err)
	}
	r, kept = recordIn(t, direct, q)
	near(t, "the end of the released record", kept, start.Add(fenceLife))
	if r.owner != "" || r.until != 0 || r.fence != g.Fence {
		t.Errorf("the released record is %+v", r)
	}
	if next := acquire(t, s, exclusive("next", time.Hour)); next.Fence <= g.Fence {
		t.Errorf("the fence went from %d to %d", g.Fence, next.Fence)
	}
}

func TestTheFenceRisesFromTheRecordAndFromTheClock(t *testing.T) {
	t.Parallel()
	s, direct := openAt(t)
	q := exclusive("owner", time.Hour)
	ahead := uint64(time.Now().Add(time.Hour).UnixMicro()) // written by a machine whose clock is ahead
	plantRecord(t, direct, q, record{fence: ahead})
	if g := acquire(t, s, q); g.Fence != ahead+1 {
		t.Errorf("after fence %d comes %d", ahead, g.Fence)
	}
	must(t, direct.Delete(leaseName(q))) // lost
	before := uint64(time.Now().UnixMicro())
	if g := acquire(t, s, q); g.Fence < before || g.Fence > uint64(time.Now().UnixMicro()) {
		t.Errorf("without a record the fence is %d, want the time, about %d", g.Fence, before)
	}
}

func plantRecord(t *testing.T, direct *memcache.Client, q sdk.LeaseRequest, r record) {
	t.Helper()
	item := newItem(isLease, q.Key, time.Now().Add(fenceLife).UnixMilli(), r.bytes())
	must(t, direct.Set(&memcache.Item{Key: leaseName(q), Value: item}))
}

func TestALeaseOfTheStrategyLeaseLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	s, direct := openAt(t)
	q, start := wish(sdk.StrategyLease, "owner", time.Hour), time.Now()
	if g := acquire(t, s, q); !g.OK || g.Fence != 0 {
		t.Errorf("the grant is %+v", g)
	}
	_, kept := recordIn(t, direct, q)
	near(t, "the end of the record", kept, start.Add(time.Hour))
	released, err := s.ReleaseLease(t.Context(), q)
	if !released || err != nil {
		t.Fatalf("release: %v, %v", released, err)
	}
	if _, err := direct.Get(leaseName(q)); err != memcache.ErrCacheMiss {
		t.Errorf("there is still a record: %v", err)
	}
}

// A lost record lets another in, and the holder learns of it by its renewal.
func TestARecordThatIsLostIsALockThatIsLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*servertest.Memcached, testing.TB){
		"flush":   func(server *servertest.Memcached, t testing.TB) { must(t, clientOf(t, server.Addr()).FlushAll()) },
		"restart": func(server *servertest.Memcached, t testing.TB) { server.Restart(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startServer(t)
			s := openTest(t, at(server.Addr()), connections(1))
			first := acquire(t, s, exclusive("first", time.Hour))
			lose(server, t)
			eventually(t, "the news of closed connections are here", func() bool { return name == "flush" || !standing(s) })
			second := acquire(t, s, exclusive("second", time.Hour))
			if !second.OK || second.Fence <= first.Fence {
				t.Errorf("the second holder is granted %+v after %+v", second, first)
			}
			g, err := s.RenewLease(t.Context(), exclusive("first", time.Hour))
			if g.OK || err != nil {
				t.Errorf("the first holder is granted %+v, %v", g, err)
			}
			released, err := s.ReleaseLease(t.Context(), exclusive("first", time.Hour))
			if released || err != nil {
				t.Errorf("the first holder releases: %v, %v", released, err)
			}
			if g := acquire(t, s, exclusive("third", time.Hour)); g.OK {
				t.Error("the first holder has released the second's lock")
			}
		})
	}
}

// All of them carry the owner, and are done again when an answer is lost.
func TestLeasesOutliveALostAnswer(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{sdk.StrategyExclusive, sdk.StrategyLease} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			s, direct, proxy := behindProxy(t)
			must(t, s.Ping(t.Context()))
			q := wish(strategy, "owner", time.Hour)
			ctx := t.Context()
			lost := func(command string) *servertest.Trap { return proxy.CutNextReply(command+" "+leaseName(q), 0) }

			trap := lost("add")
			g := acquire(t, s, q)
			if !g.OK || trap.Count() != 1 {
				t.Errorf("acquire: %+v; %d answers were lost", g, trap.Count())
			}
			if g := acquire(t, direct, wish(strategy, "other", time.Hour)); g.OK {
				t.Error("another has it too")
			}
			trap = lost("cas")
			renewed, err := s.RenewLease(ctx, q)
			if !renewed.OK || renewed.Fence != g.Fence || err != nil || trap.Count() != 1 {
				t.Errorf("renew: %+v, %v; %d answers were lost", renewed, err, trap.Count())
			}
			trap = lost("cas")
			released, err := s.ReleaseLease(ctx, q)
			if !released || err != nil || trap.Count() != 1 {
				t.Errorf("release: %v, %v; %d answers were lost", released, err, trap.Count())
			}
			if g := acquire(t, direct, wish(strategy, "other", time.Hour)); !g.OK {
				t.Error("it was not released")
			}
		})
	}
}

func TestALeaseThatMayHaveBeenTakenIsSaidToBe(t *testing.T) {
	t.Parallel()
	s, direct, proxy := behindProxy(t)
	must(t, s.Ping(t.Context()))
	q := exclusive("owner", time.Hour)
	trap := proxy.HoldReplies("add " + leaseName(q))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-trap.Sprung()
		cancel()
	}()
	g, err := s.AcquireLease(ctx, q)
	fails(t, err, context.Canceled)
	fails(t, err, sdk.ErrMaybeApplied)
	if g != (sdk.LeaseGrant{}) {
		t.Errorf("the grant is %+v", g)
	}
	if g := acquire(t, direct, exclusive("other", time.Hour)); g.OK {
		t.Error("it was not taken")
	}
	proxy.Heal(t)
	released, err := s.ReleaseLease(t.Context(), q) // as the host does
	if !released || err != nil {
		t.Errorf("release: %v, %v", released, err)
	}
}

func TestARecordThatCantBeReadIsAnError(t *testing.T) {
	t.Parallel()
	s, direct := openAt(t)
	q := exclusive("owner", time.Hour)
	for name, item := range map[string][]byte{
		"foreign":   []byte("token"),
		"cut short": newItem(isLease, q.Key, 0, make([]byte, 15)),
		"a value":   newItem(plain, q.Key, 0, make([]byte, 20)),
		"last":      newItem(isLease, q.Key, 0, record{fence: math.MaxUint64}.bytes()),
	} {
		t.Run(name, func(t *testing.T) {
			must(t, direct.Set(&memcache.Item{Key: leaseName(q), Value: item}))
			_, err := s.AcquireLease(t.Context(), q)
			fails(t, err, sdk.ErrCorrupt, leaseName(q))
			_, err = s.RenewLease(t.Context(), q)
			fails(t, err, sdk.ErrCorrupt)
			_, err = s.ReleaseLease(t.Context(), q)
			fails(t, err, sdk.ErrCorrupt)
		})
	}
}

func FuzzRecord(f *testing.F) {
	f.Add(record{fence: 1, until: 2, owner: "owner"}.bytes())
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, ok := parseRecord(b)
		if ok && string(r.bytes()) != string(b) {
			t.Errorf("%q is read as %+v", b, r)
		}
		if left := r.left(now); left < 0 {
			t.Errorf("%v are left of %+v", left, r)
		}
	})
}
