package suite

import (
	"context"

	"github.com/cachewright/cachewright/bench/internal/client"
	"github.com/cachewright/cachewright/bench/internal/contest"
)

// memcached compares the ways to a memcached server.
func (s *Suite) memcached(ctx context.Context) error {
	for _, network := range []struct {
		key, title, store, address string
		callers                    []int
	}{
		{"tcp", "TCP", "memcached", s.rig.Memcached.Addr(), []int{1, 8, 64}},
		{"unix", "a unix socket", memcachedUnix, s.rig.MemcachedUnix.Socket(), []int{1, 64}},
	} {
		gomemcache := client.NewGomemcache(network.address, 64)
		s.onClose(func(context.Context) error { return gomemcache.Close() })
		all := []party{
			{key: "direct", title: "gomemcache", client: gomemcache},
			s.fast.party(network.store), s.grpc.party(network.store),
		}
		if err := seed(ctx, all, small); err != nil {
			return err
		}
		s.add("Get of 100 B from memcached over "+network.title,
			"Baseline: gomemcache with a connection for each caller. All over "+network.title+".",
			gets("memcached/"+network.key+"/get/100B", "direct", small, all, network.callers...)...)
	}
	return nil
}

// database compares the ways to one PostgreSQL server.
func (s *Suite) database(ctx context.Context) error {
	fast, grpc := s.fast.party("database"), s.grpc.party("database")
	if err := seed(ctx, []party{fast, grpc}, small); err != nil { // makes the table
		return err
	}
	pool, err := client.NewPgx(ctx, s.rig.Postgres.SocketURL(""))
	if err != nil {
		return err
	}
	s.onClose(func(context.Context) error { pool.Close(); return nil })
	direct := party{key: "direct", title: "pgx pool", client: pool}
	if err := seed(ctx, []party{direct}, small); err != nil {
		return err
	}
	if err := pool.Analyze(ctx); err != nil {
		return err
	}
	all := []party{direct, fast, grpc}
	const baseline = `Baseline: a pgx pool of ten connections, as many as the store has, with the query that reads the same table. All over a unix socket.`
	s.add("Get of 100 B from PostgreSQL over a unix socket", baseline,
		gets("database/unix/get/100B", "direct", small, all, 1, 8, 64)...)
	s.add("Set of 100 B into PostgreSQL over a unix socket", baseline+" The server doesn't wait for the disk.",
		sets("database/unix/set/100B", "direct", small, all, 1, 64)...)
	return nil
}

// files compares the file store with reading its files.
func (s *Suite) files(ctx context.Context) error {
	fast, grpc := s.fast.party("file"), s.grpc.party("file")
	if err := seed(ctx, []party{fast, grpc}, medium); err != nil {
		return err
	}
	direct, err := client.Files("direct", "os.ReadFile of the same files, in process", s.rig.Folder("file-fast"), medium.data("fast"))
	if err != nil {
		return err
	}
	s.add("Get of 4 KiB from files", "Baseline: os.ReadFile of the files that the store wrote, in process.",
		contests("file/get/4KiB", "direct", []int{1, 64}, func(int) []contest.Contender {
			return []contest.Contender{direct, fast.get(medium), grpc.get(medium)}
		})...)
	return nil
}

// remember compares hits of Remember.
func (s *Suite) remember(context.Context) error {
	s.add("Remember of 100 B from memory, a hit", "Baseline: Cachewright with `transport: grpc`.",
		contests("memory/remember/100B", "grpc", []int{1, 64}, func(int) []contest.Contender {
			return []contest.Contender{
				s.fast.Store("memory").Remember("fast", s.fast.Title, small.data("fast")),
				s.grpc.Store("memory").Remember("grpc", s.grpc.Title, small.data("grpc")),
			}
		})...)
	s.add("Remember of 100 B from Redis over TCP, a hit",
		"Baseline: the loadable cache of eko/gocache over go-redis without pipelining. All over TCP.",
		contests("redis/tcp/remember/100B", "gocache", []int{1, 64}, func(int) []contest.Contender {
			return []contest.Contender{
				s.tcp.gocache.Loadable("gocache", "eko/gocache, loadable", small.data("gocache")),
				s.fast.Store(redisTCP).Remember("fast", s.fast.Title, small.data("fast")),
				s.grpc.Store(redisTCP).Remember("grpc", s.grpc.Title, small.data("grpc")),
			}
		})...)
	return nil
}
