package memcached

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

func startServers(t testing.TB, n int) (servers []*servertest.Memcached, addrs []string) {
	t.Helper()
	for range n {
		server := startServer(t)
		servers = append(servers, server)
		addrs = append(addrs, server.Addr())
	}
	return servers, addrs
}

func entriesOf(n int) (keys []string, entries []sdk.Entry) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("app:user:%d", i))
		entries = append(entries, sdk.Entry{Key: keys[i], Value: []byte("of " + keys[i]), TTL: time.Hour})
	}
	return keys, entries
}

func TestAFifthServerLosesAFifthOfTheEntries(t *testing.T) {
	t.Parallel()
	_, addrs := startServers(t, 5)
	four, five := openTest(t, at(addrs[:4]...)), openTest(t, at(addrs...))
	keys, entries := entriesOf(5000)
	must(t, four.SetMany(t.Context(), entries))
	found, err := five.GetMany(t.Context(), keys)
	must(t, err)
	misses := 0
	for i, f := range found {
		if !f.OK {
			misses++
		} else if string(f.Value) != "of "+keys[i] {
			t.Errorf("%s holds %q", keys[i], f.Value)
		}
	}
	if share := float64(misses) / float64(len(keys)); share < 0.15 || share > 0.25 {
		t.Errorf("%.1f %% of the entries are gone, want about 20", 100*share)
	}
}

func TestABatchIsOneRequestToEachServer(t *testing.T) {
	t.Parallel()
	var tapes []*tape
	var addrs []string
	for range 3 {
		tp := startTape(t, startServer(t).Addr())
		tapes, addrs = append(tapes, tp), append(addrs, tp.addr)
	}
	s := openTest(t, at(addrs...))
	keys, entries := entriesOf(300)
	must(t, s.SetMany(t.Context(), entries))
	for _, tp := range tapes {
		tp.played()
	}
	found, err := s.GetMany(t.Context(), keys)
	must(t, err)
	for i, f := range found {
		if string(f.Value) != "of "+keys[i] {
			t.Errorf("%s holds %q, %v", keys[i], f.Value, f.Err)
		}
	}
	for i, tp := range tapes {
		if commands := tp.played(); len(commands) != 1 {
			t.Errorf("server %d got %d requests: %.100q", i, len(commands), commands)
		}
	}
}

func TestADeadServerCostsItsShareOnly(t *testing.T) {
	t.Parallel()
	for _, death := range []string{"killed", "frozen"} {
		t.Run(death, func(t *testing.T) {
			t.Parallel()
			servers, addrs := startServers(t, 5)
			s := openTest(t, at(addrs...), stallingAfter(500*time.Millisecond), dialingWithin(500*time.Millisecond))
			keys, entries := entriesOf(1000)
			must(t, s.SetMany(t.Context(), entries))
			if death == "killed" {
				servers[2].Kill(t)
			} else {
				servers[2].Freeze(t)
			}
			dead := shareOf(s, keys, addrs[2])
			if len(dead) < 100 || len(dead) > 300 {
				t.Fatalf("the dead server has %d of %d keys", len(dead), len(keys))
			}
			checkOutage(t, s, keys, dead, addrs[2])
			checkBatches(t, s, keys, dead, addrs[2])
			if death == "killed" {
				servers[2].Start(t)
			} else {
				servers[2].Thaw(t)
			}
			for key := range dead {
				eventually(t, "the server's share is back", func() bool { return s.Set(t.Context(), key, []byte("of "+key), time.Hour) == nil })
			}
			for _, key := range keys {
				holds(t, s, key, "of "+key)
			}
		})
	}
}

// shareOf are the keys that lie on a server.
func shareOf(s *store, keys []string, addr string) map[string]bool {
	share := make(map[string]bool)
	for _, key := range keys {
		if s.of(valueName(key)).at.name == addr {
			share[key] = true
		}
	}
	return share
}

// checkOutage asks for all keys: those of the dead server fail, and but for the
// calls that find out they do so at once.
func checkOutage(t *testing.T, s *store, keys []string, dead map[string]bool, addr string) {
	t.Helper()
	start := time.Now()
	for _, key := range keys {
		if !dead[key] {
			holds(t, s, key, "of "+key)
			continue
		}
		_, _, err := s.Get(t.Context(), key)
		fails(t, err, sdk.ErrUnavailable, addr)
		fails(t, s.Set(t.Context(), key, nil, time.Hour), sdk.ErrUnavailable, addr)
		_, err = s.Increment(t.Context(), key, 1, time.Hour)
		fails(t, err, sdk.ErrUnavailable, addr)
	}
	if took := time.Since(start); took > time.Duration(len(dead))*100*time.Millisecond {
		t.Errorf("%d keys of a dead server took %v", len(dead), took)
	}
}

// checkBatches asks for all keys in batches.
func checkBatches(t *testing.T, s *store, keys []string, dead map[string]bool, addr string) {
	t.Helper()
	found, err := s.GetMany(t.Context(), keys)
	must(t, err)
	for i, f := range found {
		switch {
		case dead[keys[i]]:
			fails(t, f.Err, sdk.ErrUnavailable, addr)
		case f.Err != nil || string(f.Value) != "of "+keys[i]:
			t.Errorf("%s holds %q, %v", keys[i], f.Value, f.Err)
		}
	}
	_, entries := entriesOf(len(keys))
	var failed *sdk.BatchError
	if err := s.SetMany(t.Context(), entries); !errors.As(err, &failed) || len(failed.Failed) != len(dead) {
		t.Errorf("SetMany: %.200v; want %d failed keys", err, len(dead))
	}
	fails(t, s.Ping(t.Context()), sdk.ErrUnavailable, addr)
}

func TestAServerThatIsDownIsLeftAlone(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	server.Kill(t)
	s := openTest(t, at(server.Addr()))
	_, _, err := s.Get(t.Context(), "k")
	fails(t, err, sdk.ErrUnavailable, server.Addr(), "connection refused")
	saidSo := 0
	for range 100 {
		if _, _, err = s.Get(t.Context(), "k"); errors.Is(err, sdk.ErrUnavailable) && strings.Contains(err.Error(), "left alone") {
			saidSo++
		}
	}
	if saidSo < 90 {
		t.Errorf("%d of 100 calls were refused at once; the last says %v", saidSo, err)
	}
	server.Start(t)
	eventually(t, "the server is asked again", func() bool { _, _, err := s.Get(t.Context(), "k"); return err == nil })
}

func TestPausesGrowAndEnd(t *testing.T) {
	t.Parallel()
	for n := 1; n < 100; n++ {
		for range 100 {
			full := min(firstPause<<min(n, 20), longestPause)
			if got := pause(n); got < full/2 || got > full {
				t.Errorf("after %d failures %v, want %v to %v", n, got, full/2, full)
			}
		}
	}
}
