package memory

import (
	"context"
	"strconv"

	"github.com/cachewright/cachewright/sdk"
)

// Ping implements sdk.Pinger: there is nothing that could be out of reach.
func (s *store) Ping(context.Context) error { return nil }

// Stats implements sdk.StatsReporter. Counts are since the store was opened.
func (s *store) Stats(context.Context) ([]sdk.Stat, error) {
	s.entries.CleanUp()
	count := func(name string, n int64) sdk.Stat {
		return sdk.Stat{Name: name, Value: strconv.FormatInt(n, 10)}
	}
	stats := []sdk.Stat{count("entries", int64(s.entries.EstimatedSize()))}
	if s.maxBytes > 0 {
		stats = append(stats,
			count("bytes", int64(s.entries.WeightedSize())),
			count("bytes.max", s.maxBytes))
	} else {
		stats = append(stats, count("entries.max", s.maxEntries))
	}
	return append(stats,
		count("hits", s.hits.Load()),
		count("misses", s.misses.Load()),
		count("evicted", s.evicted.Load()),
		count("expired", s.expired.Load()),
		count("leases", int64(s.leases.held()))), nil
}
