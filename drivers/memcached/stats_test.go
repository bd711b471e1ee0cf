package memcached

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// statsOf are a store's stats by name.
func statsOf(t *testing.T, s *store) map[string]sdk.Stat {
	t.Helper()
	stats, err := s.Stats(t.Context())
	must(t, err)
	byName := make(map[string]sdk.Stat)
	for _, stat := range stats {
		if _, twice := byName[stat.Name]; twice || stat.Value == "" {
			t.Errorf("%+v is twice or empty", stat)
		}
		byName[stat.Name] = stat
	}
	return byName
}

func TestStatsOfAServer(t *testing.T) {
	t.Parallel()
	s := openTest(t, at(startServer(t, "-I", "2m", "-c", "100").Addr()))
	set(t, s, "key", "v", time.Hour)
	for range 3 {
		holds(t, s, "key", "v")
	}
	holds(t, s, "absent", "")
	stats := statsOf(t, s)
	for name, want := range map[string]string{
		"server.version": "1.", "server.connections": " of 100", "item.limit": "2MiB", "memory.used": " of 64.0 MiB",
		"keys": "1", "keys.evicted": "0", "reads": "4", "reads.hit_rate": "75.0 %", "latency": "s", "clock.difference": "s", "server.uptime": "s",
	} {
		if stat, ok := stats[name]; !ok || !strings.Contains(stat.Value, want) || stat.Warning != "" {
			t.Errorf("%s is %+v, want %s and no warning", name, stat, want)
		}
	}
}

func TestStatsWarn(t *testing.T) {
	t.Parallel()
	full := openTest(t, at(startServer(t, "-m", "2").Addr()))
	for i := range 200 {
		must(t, full.Set(t.Context(), fmt.Sprint("k", i), bytes.Repeat([]byte("v"), 100_000), time.Hour))
	}
	busy := startServer(t, "-c", "200")
	for range 165 {
		dialRaw(t, busy.Addr()).says(t, "version\r\n")
	}
	for _, test := range []struct {
		store      *store
		name, want string
	}{
		{full, "keys.evicted", "locks"},
		{openTest(t, at(startServer(t, "-M").Addr())), "memory.used", "-M"},
		{openTest(t, at(startServer(t, "-F").Addr()), dedicated), "server.uptime", "-F"},
		{openTest(t, at(busy.Addr())), "server.connections", "-c"},
	} {
		if stat := statsOf(t, test.store)[test.name]; !strings.Contains(stat.Warning, test.want) {
			t.Errorf("%+v does not warn of %s", stat, test.want)
		}
	}
	for ahead, want := range map[time.Duration]bool{0: false, time.Second: false, 5 * time.Second: true, -time.Hour: true} {
		if got := (portrait{ahead: ahead}).clockWarning() != ""; got != want {
			t.Errorf("a clock that is ahead by %v: warning %v", ahead, got)
		}
	}
}

func TestStatsOfSeveralServersOfWhichOneIsDown(t *testing.T) {
	t.Parallel()
	servers, addrs := startServers(t, 3)
	s := openTest(t, at(addrs...))
	servers[1].Kill(t)
	stats := statsOf(t, s)
	for i, addr := range addrs {
		version, ok := stats["node "+addr+" server.version"]
		if ok == (i == 1) {
			t.Errorf("%s: %+v", addr, version)
		}
	}
	if down := stats["node "+addrs[1]+" server"]; down.Value != "down" || !strings.Contains(down.Warning, "refused") {
		t.Errorf("the dead server is %+v", down)
	}
	servers[0].Kill(t)
	servers[2].Kill(t)
	if _, err := s.Stats(t.Context()); !errors.Is(err, sdk.ErrUnavailable) {
		t.Errorf("without any server: %v", err)
	}
}
