package suite

import (
	"context"

	"github.com/cachewright/cachewright/bench/internal/client"
	"github.com/cachewright/cachewright/bench/internal/pingpong"
	"github.com/cachewright/cachewright/bench/internal/unary"
)

// redisClients are the clients of one address.
type redisClients struct {
	direct  client.GoRedis
	auto    client.AutoPipeline
	gocache client.Gocache
}

func (s *Suite) openPlugins(context.Context) (err error) {
	for _, p := range []struct {
		client **unary.Client
		secure bool
	}{{&s.plain, false}, {&s.secure, true}} {
		if *p.client, err = unary.Start(s.options.Program, []string{"unary-plugin"}, p.secure); err != nil {
			return err
		}
		started := *p.client
		s.onClose(func(context.Context) error { started.Close(); return nil })
	}
	return nil
}

func (s *Suite) openPingPong(context.Context) (err error) {
	if s.ping, err = pingpong.Start(s.options.Program, "ping-pong"); err != nil {
		return err
	}
	s.onClose(func(context.Context) error { return s.ping.Close() })
	return nil
}

func (s *Suite) openClients(context.Context) (err error) {
	if s.otter, err = client.NewOtter(); err != nil {
		return err
	}
	if s.tcp, err = s.openRedis("tcp", s.rig.Redis.Addr()); err != nil {
		return err
	}
	s.unix, err = s.openRedis("unix", s.rig.Redis.Socket())
	return err
}

func (s *Suite) openRedis(network, address string) (c redisClients, err error) {
	c.direct = client.NewGoRedis(network, address)
	c.gocache = client.NewGocache(c.direct)
	c.auto, err = client.NewAutoPipeline(c.direct)
	s.onClose(func(context.Context) error { return c.direct.Client.Close() })
	return c, err
}
