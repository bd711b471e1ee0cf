package redis

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// cluster is the route into a Redis Cluster. go-redis knows which master has
// which slot, and keeps that up to date; the connections are servers' own.
type cluster struct {
	settings
	client  *redis.ClusterClient
	known   atomic.Bool // the slots were learned once
	learn   flight[struct{}]
	listing flight[[]*server]

	mu      sync.RWMutex       // guards below
	servers map[string]*server // by address
}

// restAfter is how long connections to a node may idle before they are closed
// when nodes change.
const restAfter = 5 * time.Minute

func newCluster(t target) *cluster {
	o := t.client()
	return &cluster{
		settings: t.settings(),
		servers:  make(map[string]*server),
		client: redis.NewClusterClient(&redis.ClusterOptions{
			Addrs:                    t.nodes,
			Dialer:                   o.Dialer,
			Username:                 o.Username,
			Password:                 o.Password,
			ClientName:               o.ClientName,
			Protocol:                 o.Protocol,
			DisableIdentity:          o.DisableIdentity,
			MaintNotificationsConfig: o.MaintNotificationsConfig,
			MaxRetries:               o.MaxRetries,
			DialerRetries:            o.DialerRetries,
			DialTimeout:              o.DialTimeout,
			ReadTimeout:              o.ReadTimeout,
			WriteTimeout:             o.WriteTimeout,
			ContextTimeoutEnabled:    o.ContextTimeoutEnabled,
		}),
	}
}

func (c *cluster) server(ctx context.Context, key string) (*server, error) {
	if !c.known.Load() {
		if _, err := c.learn.do(ctx, c.slots); err != nil {
			return nil, err
		}
	}
	node, err := c.client.MasterForKey(ctx, key)
	if err != nil {
		return nil, err
	}
	return c.of(node.Options().Addr), nil
}

// slots asks for the slots for the first time.
func (c *cluster) slots(ctx context.Context) (struct{}, error) {
	_, err := c.client.MasterForKey(ctx, "any")
	c.known.Store(err == nil)
	return struct{}{}, err
}

// of returns the server of an address.
func (c *cluster) of(addr string) *server {
	c.mu.RLock()
	s := c.servers[addr]
	c.mu.RUnlock()
	if s != nil {
		return s
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s = c.servers[addr]; s != nil {
		return s
	}
	for _, other := range c.servers { // nodes that have left, perhaps
		other.rest(time.Now().Add(-restAfter))
	}
	s = newServer(c.settings, addr, func(ctx context.Context) (net.Conn, error) { return c.dial(ctx, "tcp", addr) })
	c.servers[addr] = s
	return s
}

// at reads the address of a redirect. One without a host is on from's.
func (c *cluster) at(addr string, from *server) *server {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil
	}
	if host == "" {
		host, _, _ = net.SplitHostPort(from.name)
	}
	return c.of(net.JoinHostPort(host, port))
}

func (c *cluster) masters(ctx context.Context) ([]*server, error) {
	return c.listing.do(ctx, c.list)
}

func (c *cluster) list(ctx context.Context) ([]*server, error) {
	var mu sync.Mutex
	var found []*server
	err := c.client.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		found = append(found, c.of(node.Options().Addr))
		return nil
	})
	slices.SortFunc(found, func(a, b *server) int { return cmp.Compare(a.name, b.name) })
	return found, err
}

// changed has the slots asked for again, in the background.
func (c *cluster) changed() { c.client.ReloadState(context.Background()) }

func (c *cluster) subscribe() *redis.PubSub { return c.client.Subscribe(context.Background()) }

func (c *cluster) close() error {
	err := c.client.Close() // ends what is in flight
	c.learn.running.Wait()
	c.listing.running.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	errs := []error{err}
	for _, s := range c.servers {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}
