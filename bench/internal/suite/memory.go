package suite

import (
	"context"
	"time"

	"github.com/cachewright/cachewright/bench/internal/contest"
)

// memory compares what only the hop costs: everybody keeps the values in a map.
func (s *Suite) memory(ctx context.Context) error {
	plain := party{key: "unary", title: "unary gRPC through go-plugin", client: s.plain}
	secure := party{key: "unary-tls", title: "unary gRPC through go-plugin, AutoMTLS", client: s.secure}
	otter := party{key: "otter", title: "otter v2, in process", client: s.otter, often: true}
	fast, grpc := s.fast.party("memory"), s.grpc.party("memory")
	all := []party{plain, secure, fast, grpc, otter}
	if err := seed(ctx, all, small, medium, large); err != nil {
		return err
	}
	three := []party{plain, fast, grpc}

	reads := gets("memory/get/100B", "unary", small, all, 1, 8, 64)
	ping := party{key: "ping-pong", title: "a bare ping-pong between two processes", client: s.ping}
	reads[0].Contenders = append(reads[0].Contenders, ping.get(small)) // it has room for one caller
	for i := range reads {
		reads[i].Contenders = append(reads[i].Contenders, withDeadline(fast.get(small)))
	}
	s.add("Get of 100 B from memory", hop+` "With a deadline" is a call whose context has one already; the others
leave it to the store's timeout. The ping-pong is what the machine takes for 32 bytes there and 100 back over a
socket pair.`, reads...)
	s.add("Get of 4 KiB from memory", hop, gets("memory/get/4KiB", "unary", medium, append(three, otter), 1, 64)...)
	s.add("Get of 1 MiB from memory", hop, gets("memory/get/1MiB", "unary", large, three, 1, 8)...)
	s.add("Set of 100 B into memory", hop+` Cachewright's driver bounds and expires what it keeps, the plain plugin
only puts it into a map.`, sets("memory/set/100B", "unary", small, append(three, otter), 1, 64)...)
	s.add("Increment in memory", "Baseline: Cachewright with `transport: grpc`.",
		contests("memory/increment", "grpc", []int{1, 64}, func(int) []contest.Contender {
			return []contest.Contender{
				s.fast.Store("memory").Increment("fast", s.fast.Title),
				s.grpc.Store("memory").Increment("grpc", s.grpc.Title),
			}
		})...)
	return nil
}

// pace is how often a caller calls that pauses.
const pace = 500 * time.Microsecond

const hop = `Baseline: a plain unary gRPC plugin through go-plugin, on a unix socket, without TLS.`

// withDeadline gives every call a context with a deadline, as a server's
// handler may have it.
func withDeadline(c contest.Contender) contest.Contender {
	call := c.Call
	c.Key, c.Title = c.Key+"-deadline", c.Title+", with a deadline"
	c.Call = func(ctx context.Context, n int) error {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		return call(ctx, n)
	}
	return c
}

// paced has callers that pause: most caches are asked now and then.
func (s *Suite) paced(context.Context) error {
	plain := party{key: "unary", title: "unary gRPC through go-plugin", client: s.plain}
	three := []party{plain, s.fast.party("memory"), s.grpc.party("memory")}
	all := gets("paced/memory/get/100B", "unary", small, three, 1, 8)
	for i := range all {
		all[i].Pace = pace
	}
	s.add("Sparse Get of 100 B from memory", "Each caller calls every 500 µs. "+hop, all...)
	return nil
}
