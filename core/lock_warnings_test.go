package core_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/sdk"
)

func TestTheFirstLockOnAServerLogsWhatItsDriverWarnsOf(t *testing.T) {
	const warning = "a full server may evict locks"
	for _, c := range []struct {
		strategy string
		scope    sdk.Scope
		level    slog.Level
		fails    error
		warnings int
	}{
		{strategy: sdk.StrategyExclusive, scope: sdk.ScopeCluster, warnings: 1},
		{strategy: sdk.StrategyLease, scope: sdk.ScopeCluster, warnings: 1},
		{strategy: sdk.StrategyRedlock, scope: sdk.ScopeCluster},
		{strategy: sdk.StrategyLocal, scope: sdk.ScopeCluster},
		{strategy: sdk.StrategyExclusive, scope: sdk.ScopeHost},
		{strategy: sdk.StrategyExclusive, scope: sdk.ScopeCluster, level: slog.LevelError},
		{strategy: sdk.StrategyExclusive, scope: sdk.ScopeCluster, fails: errors.New("may not ask")},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := with(c.strategy)
			f.traits.LockScope = c.scope
			f.stats = []sdk.Stat{{Name: "memory.policy", Value: "allkeys-lru", Warning: warning}, {Name: "fine", Value: "1"}}
			f.failing("stats", c.fails)
			var log bytes.Buffer
			r := f.repository(t, cache.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: c.level}))))
			for range 2 {
				ran := false
				err := r.Lock("k").Do(t.Context(), func(context.Context) error { ran = true; return nil })
				if err != nil || !ran {
					t.Errorf("%s: the block ran: %t, %v", c.strategy, ran, err)
				}
				synctest.Wait()
			}
			text := log.String()
			if n := strings.Count(text, warning); n != c.warnings {
				t.Errorf("%s, scope %s, level %v, stats %v: %d warnings, want %d, in\n%s", c.strategy, c.scope, c.level, c.fails, n, c.warnings, text)
			}
			if c.warnings > 0 && (!strings.Contains(text, "level=WARN") || !strings.Contains(text, "store=main") || !strings.Contains(text, "value=allkeys-lru")) {
				t.Errorf("the warning says too little: %s", text)
			}
			if asked := slices.Contains(f.seen(), "stats"); asked != (c.warnings > 0 || c.fails != nil) {
				t.Errorf("%s, scope %s, level %v: the driver was asked: %t", c.strategy, c.scope, c.level, asked)
			}
		})
	}
}
