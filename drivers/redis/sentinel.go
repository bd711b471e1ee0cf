package redis

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// sentinel is the route to the server that Sentinels name as the master. A
// failover client of go-redis asks them whenever a connection is made; a watch
// of the driver's own listens to them, so that connections to a master that
// was deposed are not used any more, even if it still answers.
type sentinel struct {
	single
	target   target
	watching sync.Once
	watches  sync.WaitGroup
	stopped  context.Context
	stop     context.CancelFunc

	mu     sync.Mutex // guards below
	master string     // its address, as Sentinels have last named it
}

// dialing marks the context of a connection to the master: go-redis's failover
// client connects to Sentinels and to the master by the same function.
type dialing struct{}

func newSentinel(t target) *sentinel {
	s, o := t.settings(), t.client()
	r := &sentinel{target: t}
	r.stopped, r.stop = context.WithCancel(context.Background())
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
	r.only = newServer(s, "master "+t.options.Sentinel.Master, r.connect)
	r.only.mustBeMaster = true
	return r
}

func (r *sentinel) connect(ctx context.Context) (net.Conn, error) {
	r.watching.Do(func() { r.watches.Go(r.watch) })
	return r.client.Options().Dialer(context.WithValue(ctx, dialing{}, true), "tcp", "")
}

// names notes the master that Sentinels name. Connections to another are not
// used any more.
func (r *sentinel) names(addr string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.master != "" && r.master != addr {
		r.only.epoch.Add(1)
	}
	r.master = addr
}

// watch listens to one Sentinel after the other.
func (r *sentinel) watch() {
	for n := 0; r.stopped.Err() == nil; n++ {
		o := r.target.client()
		o.Network, o.Addr = "tcp", r.target.sentinels[n%len(r.target.sentinels)]
		o.Username, o.Password = r.target.options.Sentinel.Username, r.target.options.Sentinel.Password
		if r.listen(redis.NewSentinelClient(o)) {
			n = 0
		}
		sleep(r.stopped, backoff(n+1))
	}
}

// listen hears what a Sentinel says until the connection to it ends. It reports
// whether there was one.
func (r *sentinel) listen(client *redis.SentinelClient) (heard bool) {
	defer client.Close()
	sub := client.Subscribe(r.stopped, "+switch-master")
	defer sub.Close()
	defer context.AfterFunc(r.stopped, func() { sub.Close() })()
	receive(r.stopped, sub, func(received any) {
		switch m := received.(type) {
		case *redis.Subscription: // a switch may have been missed
			heard = true
			if addr, err := client.GetMasterAddrByName(r.stopped, r.target.options.Sentinel.Master).Result(); err == nil && len(addr) == 2 {
				r.names(net.JoinHostPort(addr[0], addr[1]))
			}
		case *redis.Message: // NAME OLD-IP OLD-PORT NEW-IP NEW-PORT
			parts := strings.Fields(m.Payload)
			if len(parts) == 5 && parts[0] == r.target.options.Sentinel.Master {
				r.names(net.JoinHostPort(parts[3], parts[4]))
			}
		}
	})
	return heard
}

func (r *sentinel) close() error {
	r.stop()
	err := r.single.close()
	r.watches.Wait()
	return err
}

// receive hands over what a subscription receives, until it fails. One that is
// silent for long is tested by a ping.
func receive(ctx context.Context, sub *redis.PubSub, handle func(received any)) {
	for pinged := false; ; {
		received, err := sub.ReceiveTimeout(ctx, silence)
		var timeout net.Error
		switch {
		case err == nil:
			pinged = false
			handle(received)
		case !errors.As(err, &timeout) || !timeout.Timeout() || pinged:
			return
		default:
			if sub.Ping(ctx) != nil {
				return
			}
			pinged = true
		}
	}
}
