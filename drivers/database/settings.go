package database

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pingTimeout is how long a connection that has rested may take to answer
// before another one is used.
const pingTimeout = 2 * time.Second

// Settings are checked options.
type settings struct {
	table, locks tableName
	create       bool
	unlogged     bool
	sweepEvery   time.Duration // 0: never
	space        string
	pool         *pgxpool.Config
	listen       *pgx.ConnConfig // nil: nothing to listen on, waiters poll
}

// check refuses what the schema can't, all at once.
func check(o options) (settings, error) {
	set := settings{create: o.CreateTables, unlogged: o.Unlogged, sweepEvery: o.SweepInterval}
	var problems []sdk.Problem
	refuse := func(key, reason string) { problems = append(problems, sdk.Problem{Key: key, Reason: reason}) }
	var err error
	if set.table, err = parseTableName(o.Table); err != nil {
		refuse("table", err.Error())
	}
	if set.locks, err = parseTableName(o.LockTable); err != nil {
		refuse("lock_table", err.Error())
	}
	if set.table == set.locks {
		refuse("lock_table", "must be another table than that of the entries")
	}
	if o.MaxConnections < 1 || o.MaxConnections > math.MaxInt32 {
		refuse("max_connections", "must be at least 1")
	}
	if o.ConnectTimeout <= 0 {
		refuse("connect_timeout", "must be longer than 0s")
	}
	if o.SweepInterval < 0 {
		refuse("sweep_interval", "must not be negative; 0s turns sweeping off")
	}
	if set.pool, err = poolConfig(o); err != nil {
		refuse("dsn", err.Error())
	}
	if set.listen, err = listenConfig(o, set.pool); err != nil {
		refuse("listen_url", err.Error())
	}
	if len(problems) > 0 {
		return set, &sdk.OptionsError{Problems: problems}
	}
	set.space = space(set)
	return set, nil
}

func poolConfig(o options) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(o.DSN)
	if err != nil {
		return nil, unreadable(err)
	}
	complete(config.ConnConfig, o)
	if o.Pooler == "transaction" {
		// A prepared statement would stay behind on another connection.
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	config.MaxConns = int32(o.MaxConnections)
	config.MinConns, config.MinIdleConns = 0, 0
	config.MaxConnIdleTime = 5 * time.Minute
	config.PingTimeout = pingTimeout
	return config, nil
}

// listenConfig is where waiters hear of releases: nil behind a pooler without
// a way past it, since a pooler loses notifications.
func listenConfig(o options, pool *pgxpool.Config) (*pgx.ConnConfig, error) {
	switch {
	case o.ListenURL != "":
		config, err := pgx.ParseConfig(o.ListenURL)
		if err != nil {
			return nil, unreadable(err)
		}
		complete(config, o)
		return config, nil
	case o.Pooler == "transaction" || pool == nil:
		return nil, nil
	}
	return pool.ConnConfig.Copy(), nil
}

func complete(c *pgx.ConnConfig, o options) {
	if o.Password != "" {
		c.Password = o.Password
	}
	c.ConnectTimeout = o.ConnectTimeout
	c.RuntimeParams["client_encoding"] = "UTF8"
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "cachewright"
	}
}

// unreadable says what is wrong with a connection string and repeats none of
// it: it may hold a password, in a place where nobody would look for one.
func unreadable(err error) error {
	if file := (*fs.PathError)(nil); errors.As(err, &file) {
		return fmt.Errorf("names a file that can't be read: %w", file)
	}
	return errors.New("is no connection string: give postgres://USER:PASSWORD@HOST:PORT/DATABASE with special characters " +
		"percent-encoded, or key=value words; a password may also stand in the option password")
}

// space names what the store's data and locks live in.
func space(set settings) string {
	c := set.pool.ConnConfig
	servers := []string{server(c.Host, c.Port)}
	for _, other := range c.Fallbacks {
		if name := server(other.Host, other.Port); !slices.Contains(servers, name) {
			servers = append(servers, name)
		}
	}
	words := []string{"postgresql", strings.Join(servers, ","), "database", quoteIdentifier(c.Database)}
	if searched := c.RuntimeParams["search_path"]; searched != "" {
		words = append(words, "search path", searched)
	}
	return strings.Join(append(words, "table", string(set.table), "locks", string(set.locks)), " ")
}

func server(host string, port uint16) string {
	if strings.HasPrefix(host, "/") {
		return path.Join(host, fmt.Sprintf(".s.PGSQL.%d", port))
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
