package memory

import (
	"context"
	"errors"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

func TestExpiryIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, options{})
		for _, ttl := range []time.Duration{time.Millisecond, 1500 * time.Millisecond, time.Minute, 26 * time.Hour} {
			if err := s.Set(t.Context(), "k", []byte("v"), ttl); err != nil {
				t.Fatal(err)
			}
			time.Sleep(ttl - time.Nanosecond)
			if _, ok, _ := s.Get(t.Context(), "k"); !ok {
				t.Errorf("an entry with a TTL of %v is a miss 1 ns before its end", ttl)
			}
			time.Sleep(time.Nanosecond)
			if _, ok, _ := s.Get(t.Context(), "k"); ok {
				t.Errorf("an entry with a TTL of %v is a hit at its end", ttl)
			}
		}
	})
}

func TestExpiredEntriesAreSweptUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, options{})
		for i := range 1000 {
			s.Set(t.Context(), strconv.Itoa(i), make([]byte, 1000), time.Second)
		}
		s.Set(t.Context(), "forever", []byte("v"), sdk.NoExpiry)
		time.Sleep(5 * time.Second)
		if n := s.entries.EstimatedSize(); n != 1 {
			t.Errorf("5 s after the end of 1,000 entries there are %d; want 1", n)
		}
		keys, _ := s.index.page(cursor{}, "", 10)
		if stats := statsOf(t, s); len(keys) != 1 || stats["expired"] != 1000 || stats["evicted"] != 0 || stats["bytes"] > 1000 {
			t.Errorf("the index lists %v, stats are %v", keys, stats)
		}
	})
}

func TestTTLIsWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, options{})
		longest := time.Duration(math.MaxInt64).Truncate(time.Millisecond)
		for _, ttl := range []time.Duration{time.Millisecond, time.Minute, 100 * 365 * 24 * time.Hour, longest} {
			s.Set(t.Context(), "k", nil, ttl)
			if left, ok, _ := s.TTL(t.Context(), "k"); !ok || left != ttl {
				t.Errorf("TTL of an entry just stored for %v = %v, %t", ttl, left, ok)
			}
		}
		time.Sleep(time.Hour)
		if left, _, _ := s.TTL(t.Context(), "k"); left != longest-time.Hour {
			t.Errorf("TTL an hour later = %v", left)
		}
	})
}

func TestStatsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, options{})
		s.Set(t.Context(), "a", []byte("v"), sdk.NoExpiry)
		s.Set(t.Context(), "b", []byte("v"), time.Second)
		s.Set(t.Context(), "a", []byte("v"), sdk.NoExpiry)
		for range 3 {
			s.Get(t.Context(), "a")
		}
		s.GetMany(t.Context(), []string{"a", "absent"})
		s.Delete(t.Context(), "a")
		r := sdk.LeaseRequest{Strategy: sdk.StrategyLease, Key: "a", Owner: "o", Lease: time.Minute}
		s.AcquireLease(t.Context(), r)
		time.Sleep(2 * time.Second)
		got := statsOf(t, s)
		for name, want := range map[string]int64{"entries": 0, "hits": 4, "misses": 1, "expired": 1, "evicted": 0, "leases": 1, "bytes": 0} {
			if got[name] != want {
				t.Errorf("%s = %d; want %d", name, got[name], want)
			}
		}
		time.Sleep(time.Minute)
		if got := statsOf(t, s)["leases"]; got != 0 {
			t.Errorf("after their end %d leases are counted", got)
		}
	})
}

func TestFencesOutliveTheirLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, options{})
		acquire := func(key string, lease time.Duration) uint64 {
			g, err := s.AcquireLease(t.Context(), sdk.LeaseRequest{Strategy: sdk.StrategyExclusive, Key: key, Owner: "o", Lease: lease})
			if err != nil || !g.OK {
				t.Fatalf("AcquireLease: %+v, %v", g, err)
			}
			return g.Fence
		}
		if first, now := acquire("k", time.Minute), uint64(time.Now().UnixMicro()); first != now {
			t.Errorf("the first fence is %d; want the clock, %d", first, now)
		}
		if second, now := acquire("k", 72*time.Hour), uint64(time.Now().UnixMicro()); second != now+1 {
			t.Errorf("the second fence in one microsecond is %d; want %d", second, now+1)
		}
		time.Sleep(72*time.Hour + 23*time.Hour)
		acquire("other", time.Minute) // sweeps
		if _, known := s.leases.locks[lockName{sdk.StrategyExclusive, "k"}]; !known {
			t.Errorf("a fence is forgotten 23 h after its lease has ended")
		}
		time.Sleep(2 * time.Hour)
		acquire("other", time.Minute)
		if _, known := s.leases.locks[lockName{sdk.StrategyExclusive, "k"}]; known {
			t.Errorf("a fence is kept 25 h after its lease has ended")
		}
	})
}

func TestWaitsEndOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, options{})
		holder := sdk.LeaseRequest{Strategy: sdk.StrategyExclusive, Key: "k", Owner: "holder", Lease: 10 * time.Second}
		waiter := sdk.LeaseRequest{Strategy: sdk.StrategyExclusive, Key: "k", Owner: "waiter", Lease: time.Second}
		waited := func(step string, want time.Duration, wantErr error, ctx context.Context) {
			start := time.Now()
			err := s.WaitLease(ctx, waiter)
			if took := time.Since(start); took != want || !errors.Is(err, wantErr) {
				t.Errorf("%s: the wait took %v and ended with %v; want %v, %v", step, took, err, want, wantErr)
			}
		}
		waited("free", 0, nil, t.Context())

		s.AcquireLease(t.Context(), holder)
		waited("expiry", 10*time.Second, nil, t.Context())

		s.AcquireLease(t.Context(), holder)
		time.AfterFunc(3*time.Second, func() { s.ReleaseLease(t.Context(), holder) })
		waited("release", 3*time.Second, nil, t.Context())

		s.AcquireLease(t.Context(), holder)
		time.AfterFunc(9*time.Second, func() { s.RenewLease(t.Context(), holder) })
		waited("renewal", 19*time.Second, nil, t.Context())

		s.AcquireLease(t.Context(), holder)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		waited("deadline", 4*time.Second, context.DeadlineExceeded, ctx)
	})
}
