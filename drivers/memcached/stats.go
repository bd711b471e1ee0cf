package memcached

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

const (
	// pings is how many round trips the latency is the median of.
	pings = 5
	// skewWorthAWarning is far more than a server's clock, which has no
	// fractions, can seem to differ.
	skewWorthAWarning = 5 * time.Second
	// fullWorthAWarning is which part of its connections a server has in use.
	fullWorthAWarning = 0.8
)

// A portrait is what one server says of itself.
type portrait struct {
	stats, settings map[string]string
	latency         time.Duration
	ahead           time.Duration // its clock, of this machine's
}

// Stats implements sdk.StatsReporter. Where there are several servers, the
// names of their stats begin with "node" and the address. One that can't be
// reached is a line with a warning, unless none can.
func (s *store) Stats(ctx context.Context) ([]sdk.Stat, error) {
	stats := make([][]sdk.Stat, len(s.ring))
	errs := make([]error, len(s.ring))
	s.each(func(i int, srv *server) error {
		stats[i], errs[i] = srv.describe(ctx, s.dedicated)
		return nil
	})
	if ended := ctx.Err(); ended != nil {
		return nil, ended
	}
	if !slices.Contains(errs, nil) {
		return nil, errs[0]
	}
	if len(s.ring) == 1 {
		return stats[0], nil
	}
	all := []sdk.Stat{{Name: "servers", Value: strconv.Itoa(len(s.ring))}}
	for i, n := range s.ring {
		prefix := "node " + n.server.at.name + " "
		if errs[i] != nil {
			all = append(all, sdk.Stat{Name: prefix + "server", Value: "down", Warning: errs[i].Error()})
		}
		for _, stat := range stats[i] {
			stat.Name = prefix + stat.Name
			all = append(all, stat)
		}
	}
	return all, nil
}

// describe reports on one server.
func (s *server) describe(ctx context.Context, dedicated bool) ([]sdk.Stat, error) {
	answer, err := s.do(ctx, &order{repeat: reads, run: func(l *lane) (any, error) { return l.portray() }})
	if err != nil {
		return nil, err
	}
	p := answer.(portrait)
	stats := []sdk.Stat{
		{Name: "server.version", Value: p.stats["version"]},
		{Name: "server.uptime", Value: p.uptime(), Warning: p.clearWarning(dedicated)},
		{Name: "server.connections", Value: p.of("curr_connections", p.number("max_connections"), p.settings["maxconns"]), Warning: p.connectionWarning()},
		{Name: "item.limit", Value: bytesOf(p.settings["item_size_max"])},
		{Name: "memory.used", Value: p.memory(), Warning: p.memoryWarning()},
		{Name: "keys", Value: p.stats["curr_items"]},
		{Name: "keys.evicted", Value: p.stats["evictions"], Warning: p.evictionWarning()},
		{Name: "reads", Value: p.stats["cmd_get"]},
		{Name: "reads.hit_rate", Value: p.hitRate()},
		{Name: "latency", Value: p.latency.Round(time.Microsecond).String()},
		{Name: "clock.difference", Value: p.ahead.String(), Warning: p.clockWarning()},
	}
	return slices.DeleteFunc(stats, func(stat sdk.Stat) bool { return stat.Value == "" }), nil
}

// portray asks the server for all of it.
func (l *lane) portray() (p portrait, err error) {
	if p.stats, err = l.statistics("stats"); err != nil {
		return p, err
	}
	asked := time.Now()
	if p.settings, err = l.statistics("stats settings"); err != nil {
		return p, err
	}
	if at := p.number("time"); at > 0 {
		p.ahead = time.Unix(int64(at), 0).Sub(asked.Truncate(time.Second))
	}
	var trips []time.Duration
	for range pings {
		start := time.Now()
		if err := l.client.Ping(); err != nil {
			return p, err
		}
		trips = append(trips, time.Since(start))
	}
	slices.Sort(trips)
	p.latency = trips[pings/2]
	return p, nil
}

// number reads a statistic, 0 if there is none.
func (p portrait) number(name string) float64 {
	n, err := strconv.ParseFloat(p.stats[name], 64)
	if err != nil {
		return 0
	}
	return n
}

func (p portrait) uptime() string {
	if p.stats["uptime"] == "" {
		return ""
	}
	return (time.Duration(p.number("uptime")) * time.Second).String()
}

// of words a part of a whole, which older servers tell in another place.
func (p portrait) of(name string, whole float64, elsewhere string) string {
	if p.stats[name] == "" {
		return ""
	}
	if whole > 0 {
		elsewhere = strconv.FormatFloat(whole, 'f', -1, 64)
	}
	if elsewhere == "" {
		return p.stats[name]
	}
	return p.stats[name] + " of " + elsewhere
}

func (p portrait) memory() string {
	if p.stats["limit_maxbytes"] == "" {
		return ""
	}
	return fmt.Sprintf("%.1f of %.1f MiB", p.number("bytes")/(1<<20), p.number("limit_maxbytes")/(1<<20))
}

func (p portrait) hitRate() string {
	hits, misses := p.number("get_hits"), p.number("get_misses")
	if hits+misses == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*hits/(hits+misses))
}

func (p portrait) evictionWarning() string {
	if p.number("evictions") == 0 {
		return ""
	}
	return "the server drops entries that have not expired, locks among them, which lets a second holder in: " +
		"give it more memory (-m), and locks a server of their own"
}

func (p portrait) memoryWarning() string {
	if p.settings["evictions"] == "off" {
		return "the server runs with -M: writes fail once it is full, and take the old entry with them"
	}
	return ""
}

func (p portrait) connectionWarning() string {
	most, err := strconv.ParseFloat(p.settings["maxconns"], 64)
	if err != nil || p.number("curr_connections") < fullWorthAWarning*most {
		return ""
	}
	return "the server has few connections left: raise -c, or lower the option connections"
}

func (p portrait) clearWarning(dedicated bool) string {
	if dedicated && p.settings["flush_enabled"] == "no" {
		return "the server runs with -F, so that the store can't be cleared although it is dedicated"
	}
	return ""
}

func (p portrait) clockWarning() string {
	if p.ahead.Abs() < skewWorthAWarning {
		return ""
	}
	return "the clocks of this machine and of the server differ: entries and locks end by the clocks of the machines " +
		"that use the store, so that all of them must be synchronised"
}

func bytesOf(text string) string {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return ""
	}
	return sdk.Bytes(n).String()
}
