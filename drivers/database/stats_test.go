package database

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

func statsOf(t *testing.T, s *store) map[string]sdk.Stat {
	t.Helper()
	list, err := s.Stats(bounded(t))
	must(t, err)
	stats := make(map[string]sdk.Stat, len(list))
	for _, stat := range list {
		if _, twice := stats[stat.Name]; twice || stat.Value == "" {
			t.Errorf("%s is given twice or empty", stat.Name)
		}
		stats[stat.Name] = stat
	}
	return stats
}

func TestStats(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{Settings: []string{"autovacuum = off"}})
	conn := beside(t, server.URL(""))

	t.Run("tell what an operator wants to know", func(t *testing.T) {
		s := fresh(t, server)
		s.mustSet(t, "k", "v", 0)
		s.takes(t, lease(exclusive, "held", "me", time.Hour))
		s.takes(t, lease(leased, "held", "me", time.Hour))
		s.takes(t, lease(exclusive, "given back", "me", time.Hour))
		s.gives(t, lease(exclusive, "given back", "me", 0), true)
		execute(t, conn, fmt.Sprintf(`UPDATE %s SET fence = fence - 7200000000 WHERE fence > 0`, s.locks))
		stats := statsOf(t, s)
		for name, want := range map[string]string{
			"server.role": "primary", "locks.held": "2", "locks.remembered": "1", "locks.oldest": "2h0m",
			"entries.table": string(s.settings.table), "entries.overdue": "0", "entries.unlogged": "false", "waiters": "0",
		} {
			if !strings.HasPrefix(stats[name].Value, want) {
				t.Errorf("%s is %q; want %q", name, stats[name].Value, want)
			}
		}
		for _, name := range []string{"locks.oldest", "server.autovacuum"} {
			if stats[name].Warning == "" {
				t.Errorf("%s has no warning", name)
			}
		}
		for _, name := range []string{"server.version", "server.latency", "server.clock", "entries.size", "entries.dead", "locks.size", "pool.connections"} {
			if stat := stats[name]; stat.Value == "" || stat.Warning != "" {
				t.Errorf("%s is %q, with the warning %q", name, stat.Value, stat.Warning)
			}
		}
	})

	for _, c := range []struct{ name, sql, stat string }{
		{"rows that nobody sweeps", `INSERT INTO {cache} VALUES ('k', '', now() - interval '1 hour')`, "entries.overdue"},
		{"a missing index on expiry", `DROP INDEX {cache_index}`, "entries.table"},
		{"a table that is unlogged against the options", `ALTER TABLE {cache} SET UNLOGGED`, "entries.unlogged"},
		{"dead rows that nobody vacuums", `INSERT INTO {cache} SELECT n::text, '' FROM generate_series(1, 20000) AS n; DELETE FROM {cache}`, "entries.dead"},
	} {
		t.Run("warn of "+c.name, func(t *testing.T) {
			s := fresh(t, server)
			if warning := statsOf(t, s)[c.stat].Warning; warning != "" {
				t.Errorf("%s warns too early: %s", c.stat, warning)
			}
			table := strings.Trim(string(s.settings.table), `"`)
			execute(t, conn, strings.NewReplacer("{cache}", table, "{cache_index}", table+"_expiry_idx").Replace(c.sql))
			eventually(t, c.stat+" has a warning", func() bool { return statsOf(t, s)[c.stat].Warning != "" })
		})
	}
}
