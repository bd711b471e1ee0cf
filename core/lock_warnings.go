package core

import (
	"context"
	"log/slog"

	"github.com/cachewright/cachewright/sdk"
)

// passOnWarnings has the store's driver say, beside the first lock that its
// server keeps, what cachewright doctor would: that the server may evict locks,
// or loses them when it restarts. The log hears of each warning once.
func (s *store) passOnWarnings(o *openedStore, strategy string) {
	kept := strategy == sdk.StrategyExclusive || strategy == sdk.StrategyLease
	if !kept || o.Traits().LockScope != sdk.ScopeCluster || !o.has(sdk.CanReport) {
		return
	}
	if !s.manager.logger.Enabled(s.manager.closing, slog.LevelWarn) {
		return
	}
	o.locks.AtFirst(func() { s.manager.blocks.spawn(func() { s.logWarnings(o) }) })
}

func (s *store) logWarnings(o *openedStore) {
	ctx, cancel := context.WithTimeout(s.manager.closing, s.timeout)
	defer cancel()
	stats, err := o.Stats(ctx)
	if err != nil {
		s.manager.logger.Debug("store not asked for warnings about its locks", "store", s.name, "error", err)
		return
	}
	for _, stat := range stats {
		if stat.Warning != "" {
			s.manager.logger.Warn("store with locks has a warning", "store", s.name, "driver", s.driver,
				"about", stat.Name, "value", stat.Value, "warning", stat.Warning)
		}
	}
}
