// Package database is the driver of stores in a PostgreSQL database.
//
// Entries are rows of one table and locks rows of another, which is never
// unlogged. Every operation is one statement and a transaction of its own, so
// none takes part in a transaction of the application's. Values are stored as
// the codec made them, readable with any client of the database; expiry is
// judged by the server's clock, and so are leases, unless their strategy asks
// for the clock of the driver's machine.
//
// The first call connects: it refuses servers and tables that can't keep the
// promises, and creates the tables where they are missing. Gets and Sets that
// come at the same time travel together as one statement.
package database

import (
	"context"
	"sync"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"github.com/jackc/pgx/v5/pgxpool"
)

const version = "0.1.0"

// Driver is the database driver.
var Driver = sdk.Define("database", version, open)

type options struct {
	DSN            string        `option:"dsn,required,secret" doc:"connection string: postgres://USER:PASSWORD@HOST:PORT/DATABASE, or key=value words"`
	Password       string        `option:"password,secret" doc:"the password, in place of one in dsn; any characters, nothing to encode"`
	Table          string        `option:"table" default:"cache" doc:"table of the entries: cache, app.cache, app.\"My Cache\""`
	LockTable      string        `option:"lock_table" default:"cache_locks" doc:"table of the locks, named likewise"`
	CreateTables   bool          `option:"create_tables" default:"true" doc:"create tables that are missing, at the first call"`
	Unlogged       bool          `option:"unlogged" default:"false" doc:"create the table of the entries UNLOGGED: faster, and empty after a crash of the server"`
	Pooler         string        `option:"pooler" default:"none" enum:"none,transaction" doc:"transaction where dsn leads to a transaction pooler, such as PgBouncer"`
	ListenURL      string        `option:"listen_url,secret" doc:"connection string that leads past the pooler, for the wake-up of waiting lockers"`
	MaxConnections int           `option:"max_connections" default:"10" doc:"most connections of the store at once; waiting lockers share one more"`
	ConnectTimeout time.Duration `option:"connect_timeout" default:"5s" doc:"how long one attempt to connect may take"`
	SweepInterval  time.Duration `option:"sweep_interval" default:"30s" doc:"how often expired rows are removed; 0s leaves that to others"`
}

// A store is one opened store.
type store struct {
	settings
	sql  statements
	pool *pgxpool.Pool
	now  func() time.Time // the wall clock behind sdk.DriverClock

	gate  gate
	gets  lane
	sets  lane
	calls lane
	waits waits

	life context.Context // ends with the store, and with it what runs for it
	end  context.CancelFunc
	work sync.WaitGroup
}

func open(_ context.Context, o options) (*store, error) {
	set, err := check(o)
	if err != nil {
		return nil, err
	}
	s := &store{settings: set, sql: newStatements(set.table, set.locks), now: time.Now}
	s.life, s.end = context.WithCancel(context.Background())
	s.gate.open = s.prepare
	s.gets = lane{store: s, effect: reads, places: places(o), serve: s.getTogether}
	s.sets = lane{store: s, effect: repeatable, places: places(o), serve: s.setTogether}
	s.calls = lane{store: s, effect: repeatable, places: 1, serve: s.notifyTogether}
	s.waits.store = s
	if s.pool, err = pgxpool.NewWithConfig(s.life, set.pool); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// places are a lane's: enough for a server to work on, and few enough that
// those who wait become many.
func places(o options) int { return min(4, o.MaxConnections) }

// Traits are the store's.
func (s *store) Traits() sdk.Traits {
	return sdk.Traits{
		Dispatch:        sdk.DispatchTogether,
		LockStrategy:    sdk.StrategyLease,
		LockScope:       sdk.ScopeCluster,
		Class:           sdk.ClassOverlap,
		ReleaseCompares: true,
		Space:           s.space,
	}
}

// closeTimeout bounds the farewell to a server that doesn't answer.
const closeTimeout = 1500 * time.Millisecond

// Close ends what runs for the store, and its connections. Those that don't
// answer in time are dropped behind its back.
func (s *store) Close() error {
	s.end()
	s.work.Wait()
	closed := make(chan struct{})
	go func() {
		s.pool.Close() // pgx itself bounds it, by 15 s
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(closeTimeout):
	}
	return nil
}
