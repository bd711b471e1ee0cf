package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// A route finds the server of a key.
type route interface {
	// server returns the server of a key. Its error means that nothing was sent.
	server(ctx context.Context, key string) (*server, error)
	// at returns the server of an address that from has named; nil where there
	// is only one.
	at(addr string, from *server) *server
	// masters returns all servers that hold keys, by name.
	masters(ctx context.Context) ([]*server, error)
	// changed says that the servers may have changed their parts.
	changed()
	// subscribe makes a subscription that connects when it is first used.
	subscribe() *redis.PubSub
	close() error
}

func (t target) route() route {
	switch {
	case t.nodes != nil:
		return newCluster(t)
	case t.sentinels != nil:
		return newSentinel(t)
	}
	return newSingle(t)
}

// space names what the store's data and locks live in.
func (t target) space() string {
	sorted := func(addrs []string) string {
		addrs = slices.Clone(addrs)
		slices.Sort(addrs)
		return strings.Join(addrs, ",")
	}
	switch {
	case t.nodes != nil:
		return "redis cluster " + sorted(t.nodes)
	case t.sentinels != nil:
		return fmt.Sprintf("redis %s of %s, database %d", t.options.Sentinel.Master, sorted(t.sentinels), t.db)
	}
	return fmt.Sprintf("redis %s, database %d", t.addr, t.db)
}

// client is what go-redis needs to connect by itself: for subscriptions, and
// for what it knows of a Cluster.
func (t target) client() *redis.Options {
	s := t.settings()
	return &redis.Options{
		Network: t.network,
		Addr:    t.addr,
		Dialer:  s.dial,

		Username:   t.username,
		Password:   t.password,
		ClientName: t.options.ClientName,

		Protocol:                 2,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},

		MaxRetries:            -1,
		DialerRetries:         1,
		DialTimeout:           t.options.DialTimeout,
		ReadTimeout:           t.options.StallTimeout,
		WriteTimeout:          t.options.StallTimeout,
		ContextTimeoutEnabled: true,
	}
}

// single is the route to one server.
type single struct {
	only   *server
	client *redis.Client // for subscriptions
}

func newSingle(t target) *single {
	s := t.settings()
	connect := func(ctx context.Context) (net.Conn, error) { return s.dial(ctx, t.network, t.addr) }
	return &single{newServer(s, t.addr, connect), redis.NewClient(t.client())}
}

func (r *single) server(context.Context, string) (*server, error) { return r.only, nil }
func (r *single) at(string, *server) *server                      { return nil }
func (r *single) masters(context.Context) ([]*server, error)      { return []*server{r.only}, nil }
func (r *single) changed()                                        {}
func (r *single) subscribe() *redis.PubSub                        { return r.client.Subscribe(context.Background()) }
func (r *single) close() error                                    { return errors.Join(r.only.close(), r.client.Close()) }
