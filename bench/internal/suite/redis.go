package suite

import (
	"context"
	"fmt"

	"github.com/cachewright/cachewright/bench/internal/client"
	"github.com/cachewright/cachewright/bench/internal/contest"
)

// redis compares the ways to one Redis server.
func (s *Suite) redis(ctx context.Context) error {
	for _, network := range []struct {
		name, title, store string
		clients            redisClients
	}{
		{"tcp", "TCP", redisTCP, s.tcp},
		{"unix", "a unix socket", "redis", s.unix},
	} {
		direct := party{key: "direct", title: "go-redis", client: network.clients.direct}
		auto := party{key: "auto", title: "go-redis, AutoPipeline", client: network.clients.auto}
		gocache := party{key: "gocache", title: "eko/gocache over go-redis", client: network.clients.gocache}
		fast, grpc := s.fast.party(network.store), s.grpc.party(network.store)
		all := []party{direct, auto, gocache, fast, grpc}
		if err := seed(ctx, all, small, medium); err != nil {
			return err
		}
		if err := seed(ctx, []party{direct, fast, grpc}, large); err != nil {
			return err
		}
		on := "redis/" + network.name
		baseline := fmt.Sprintf("Baseline: go-redis without pipelining, its default pool of connections. All over %s.", network.title)

		reads := gets(on+"/get/100B", "direct", small, all, 1, 8, 64)
		last := &reads[len(reads)-1]
		last.Contenders = append(last.Contenders,
			network.clients.direct.ByHand("by-hand", "go-redis, pipelines of 64 by hand, one goroutine", small.data("direct"), 64))
		s.add("Get of 100 B from Redis over "+network.title, baseline, reads...)
		s.add("Set of 100 B into Redis over "+network.title, baseline,
			sets(on+"/set/100B", "direct", small, []party{direct, auto, fast, grpc}, 1, 64)...)
		s.add("GetMany of 100 from Redis over "+network.title,
			"An operation is a batch of 100 values of 100 B. Baseline: 100 single Gets of go-redis, one after the other. All over "+network.title+".",
			contests(on+"/getmany/100", "direct", []int{1}, func(int) []contest.Contender {
				return batches(network.clients.direct, s.fast.Store(network.store), s.grpc.Store(network.store), s.fast.Title, s.grpc.Title)
			})...)
		if network.name == "tcp" {
			s.add("Get of 1 MiB from Redis over TCP", baseline, gets(on+"/get/1MiB", "direct", large, []party{direct, fast, grpc}, 1, 8)...)
			continue
		}
		s.add("Get of 4 KiB from Redis over a unix socket", baseline, gets(on+"/get/4KiB", "direct", medium, []party{direct, auto, fast, grpc}, 1, 64)...)
		s.add("Increment in Redis over a unix socket", baseline,
			contests(on+"/increment", "direct", []int{1, 64}, func(int) []contest.Contender {
				return []contest.Contender{
					network.clients.direct.Increment("direct", "go-redis"),
					s.fast.Store(network.store).Increment("fast", s.fast.Title),
					s.grpc.Store(network.store).Increment("grpc", s.grpc.Title),
				}
			})...)
	}
	s.pacedRedis()
	return nil
}

func batches(direct client.GoRedis, fast, grpc client.Store, fastTitle, grpcTitle string) []contest.Contender {
	const batch = 100
	return []contest.Contender{
		client.OneByOne("direct", "go-redis, 100 Gets", direct, small.data("direct"), batch),
		direct.MGet("mget", "go-redis, one MGET", small.data("direct"), batch),
		fast.GetMany("fast", fastTitle, small.data("fast"), batch),
		grpc.GetMany("grpc", grpcTitle, small.data("grpc"), batch),
	}
}

func (s *Suite) pacedRedis() {
	parties := []party{
		{key: "direct", title: "go-redis", client: s.tcp.direct},
		{key: "auto", title: "go-redis, AutoPipeline", client: s.tcp.auto},
		s.fast.party(redisTCP), s.grpc.party(redisTCP),
	}
	all := gets("paced/redis/tcp/get/100B", "direct", small, parties, 1, 8)
	for i := range all {
		all[i].Pace = pace
	}
	s.add("Sparse Get of 100 B from Redis over TCP",
		"Each caller calls every 500 µs. Baseline: go-redis without pipelining. All over TCP.", all...)
}
