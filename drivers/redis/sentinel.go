package redis

import (
	"context"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"
)

// sentinel is the route to the server that Sentinels name as the master.
type sentinel struct {
	single

	mu     sync.Mutex // guards below
	master string     // its address, as it was last connected to
}

// dialing marks the context of a connection to the master: go-redis's failover
// client connects to Sentinels and to the master by the same function.
type dialing struct{}

func newSentinel(t target) *sentinel {
	s, o := t.settings(), t.client()
	r := &sentinel{}
	r.client = redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName:       t.options.Sentinel.Master,
		SentinelAddrs:    t.sentinels,
		SentinelUsername: t.options.Sentinel.Username,
		SentinelPassword: t.options.Sentinel.Password,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if ctx.Value(dialing{}) != nil {
				r.names(addr)
			}
			return s.dial(ctx, network, addr)
		},
		Username:              o.Username,
		Password:              o.Password,
		ClientName:            o.ClientName,
		Protocol:              o.Protocol,
		DisableIdentity:       o.DisableIdentity,
		MaxRetries:            o.MaxRetries,
		DialerRetries:         o.DialerRetries,
		DialTimeout:           o.DialTimeout,
		ReadTimeout:           o.ReadTimeout,
		WriteTimeout:          o.WriteTimeout,
		ContextTimeoutEnabled: o.ContextTimeoutEnabled,
	})
	r.only = newServer(s, t.options.Sentinel.Master, func(ctx context.Context) (net.Conn, error) {
		return r.client.Options().Dialer(context.WithValue(ctx, dialing{}, true), "tcp", "")
	})
	r.only.mustBeMaster = true
	return r
}

// names notes the master that Sentinel names. Connections to another are not
// used any more.
func (r *sentinel) names(addr string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.master != "" && r.master != addr {
		r.only.epoch.Add(1)
	}
	r.master = addr
}
