package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"github.com/redis/go-redis/v9"
)

const (
	// pings is how many round trips the latency is the median of.
	pings = 5
	// skewWorthAWarning is how far clocks may differ: the strategy lease judges
	// by the clock of the machine that asks.
	skewWorthAWarning = time.Second
)

// Stats implements sdk.StatsReporter. Where there are several servers, the
// names of their stats begin with "node" and the address.
func (s *store) Stats(ctx context.Context) ([]sdk.Stat, error) {
	masters, err := s.route.masters(ctx)
	if err != nil {
		return nil, s.fault(ctx, err)
	}
	if s.nodes == nil {
		return s.describe(ctx, masters[0], "")
	}
	stats := []sdk.Stat{{Name: "cluster.masters", Value: strconv.Itoa(len(masters))}}
	for _, srv := range masters {
		some, err := s.describe(ctx, srv, "node "+srv.name+" ")
		if err != nil {
			return nil, err
		}
		stats = append(stats, some...)
	}
	return stats, nil
}

// describe reports on one server.
func (s *store) describe(ctx context.Context, srv *server, prefix string) ([]sdk.Stat, error) {
	info, err := s.info(ctx, srv, "default")
	if err != nil {
		return nil, err
	}
	stats := []sdk.Stat{
		{Name: "server.version", Value: versionOf(info)},
		{Name: "server.role", Value: info["role"], Warning: roleWarning(info)},
		{Name: "server.replicas", Value: info["connected_slaves"]},
		{Name: "memory.used", Value: bytesOf(info["used_memory"])},
		{Name: "memory.max", Value: maxMemory(info)},
		{Name: "memory.policy", Value: info["maxmemory_policy"], Warning: policyWarning(info)},
		{Name: "keys.evicted", Value: info["evicted_keys"]},
		{Name: "persistence", Value: persistence(info), Warning: persistenceWarning(info)},
	}
	latency, skew, err := s.clock(ctx, srv)
	if err != nil && !errors.Is(err, errNotAllowed) {
		return nil, err
	}
	if err == nil {
		stats = append(stats,
			sdk.Stat{Name: "latency", Value: latency.String()},
			sdk.Stat{Name: "clock.difference", Value: skew.String(), Warning: skewWarning(skew)})
	}
	stats = slices.DeleteFunc(stats, func(stat sdk.Stat) bool { return stat.Value == "" })
	for i := range stats {
		stats[i].Name = prefix + stats[i].Name
	}
	return stats, nil
}

// info asks for a section of INFO. A user who may not ask gets none.
func (s *store) info(ctx context.Context, srv *server, section string) (map[string]string, error) {
	cmd := redis.NewStringCmd(ctx, "info", section)
	err := s.do(ctx, call{cmd: cmd, repeat: reads, apart: true, on: srv})
	if err != nil && !errors.Is(err, errNotAllowed) {
		return nil, err
	}
	info := make(map[string]string)
	for line := range strings.Lines(cmd.Val()) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info, nil
}

// clock measures the median round trip, and how far the server's clock is
// ahead of this machine's, as far as the shortest of them lets it tell.
func (s *store) clock(ctx context.Context, srv *server) (latency, ahead time.Duration, err error) {
	var trips []time.Duration
	for range pings {
		cmd := redis.NewTimeCmd(ctx, "time")
		start := time.Now()
		if err := s.do(ctx, call{cmd: cmd, repeat: reads, apart: true, on: srv}); err != nil {
			return 0, 0, err
		}
		trip := time.Since(start)
		if len(trips) == 0 || trip < slices.Min(trips) {
			ahead = cmd.Val().Sub(start.Add(trip / 2))
		}
		trips = append(trips, trip)
	}
	slices.Sort(trips)
	return trips[pings/2].Round(time.Microsecond), ahead.Round(time.Millisecond), nil
}

func versionOf(info map[string]string) string {
	if v := info["valkey_version"]; v != "" {
		return "Valkey " + v
	}
	if v := info["redis_version"]; v != "" {
		return "Redis " + v
	}
	return ""
}

func roleWarning(info map[string]string) string {
	if info["role"] == "slave" {
		return "the server is a replica and takes no writes: give the master's address, or the option sentinel"
	}
	return ""
}

func bytesOf(text string) string {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

func maxMemory(info map[string]string) string {
	if info["maxmemory"] == "0" {
		return "unlimited"
	}
	return bytesOf(info["maxmemory"])
}

func policyWarning(info map[string]string) string {
	limited := info["maxmemory"] != "" && info["maxmemory"] != "0"
	if policy := info["maxmemory_policy"]; limited && policy != "noeviction" {
		return "under " + policy + " a full server may evict locks, which lets a second holder in: " +
			"keep locks on a server with maxmemory-policy noeviction"
	}
	return ""
}

func persistence(info map[string]string) string {
	switch {
	case info["aof_enabled"] == "1":
		return "append-only file"
	case info["rdb_last_save_time"] != "" && info["role"] != "":
		return "no append-only file"
	}
	return ""
}

func persistenceWarning(info map[string]string) string {
	switch {
	case info["aof_enabled"] == "1" && info["aof_last_write_status"] == "err",
		info["rdb_last_bgsave_status"] == "err":
		return "the server could not write its data to disk; it may refuse writes: see its log"
	case info["aof_enabled"] == "0":
		return "a restart loses the locks and entries since the last snapshot: set appendonly yes where locks matter"
	}
	return ""
}

func skewWarning(skew time.Duration) string {
	if skew.Abs() >= skewWorthAWarning {
		return "the clocks of this machine and of the server differ; the lock strategy lease judges by this machine's: synchronise both"
	}
	return ""
}

// fault words an error of finding the servers.
func (s *store) fault(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	if judge(err) == failed {
		return explain(s.nowhere, err)
	}
	return s.nowhere.says(sdk.ErrUnavailable, err, "")
}
