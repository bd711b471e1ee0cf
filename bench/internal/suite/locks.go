package suite

import (
	"context"
	"fmt"
	"time"

	"github.com/cachewright/cachewright/bench/internal/client"
	"github.com/cachewright/cachewright/bench/internal/contest"
)

const (
	// pause is what redislock's own documentation has between attempts, and
	// haste what somebody takes who wants to wait no longer than needed.
	pause = 100 * time.Millisecond
	haste = time.Millisecond
)

// locks compares the strategy exclusive with libraries for locks on Redis.
func (s *Suite) locks(context.Context) error {
	const baseline = "Baseline: bsm/redislock over go-redis without pipelining. All over TCP."
	s.add("A free lock, taken and given back", baseline+" Memory, file and database are listed to compare stores.",
		contests("lock/free", "redislock", []int{1}, s.free)...)

	busy := contest.Contest{
		Key: "lock/busy/8", Callers: 8, Turn: time.Second, Rounds: 3, Baseline: "redislock",
		Contenders: []contest.Contender{
			client.Enter("redislock", "bsm/redislock, tries every 100 ms", client.Redislock(s.tcp.direct, "busy redislock", pause)),
			client.Enter("redislock-hasty", "bsm/redislock, tries every 1 ms", client.Redislock(s.tcp.direct, "busy hasty", haste)),
			client.Enter("redsync", "redsync, its own pauses", client.Redsync(s.tcp.direct, "busy redsync")),
			client.Enter("fast", s.fast.Title+", `exclusive`", s.exclusives(redisTCP, "busy")...),
		},
	}
	s.add("One lock on Redis that eight callers want", baseline+` An operation is one entry; every caller comes back at once. Where waiters
sleep between attempts, whoever has just left enters again, and again, and the others get nothing: such a rate is that of a
free lock, and its percentiles are those of the entries there were. Under exclusive nearly every entry is a hand-over.
Cachewright's callers are in two hosts, four in each.`, busy)

	hand := contest.Contest{
		Key: "lock/hand-over", Callers: 1, Turn: time.Second, Rounds: 3, Baseline: "redislock",
		Contenders: []contest.Contender{
			client.HandOver("redislock", "bsm/redislock, tries every 100 ms", client.Redislock(s.tcp.direct, "hand redislock", pause)),
			client.HandOver("redislock-hasty", "bsm/redislock, tries every 1 ms", client.Redislock(s.tcp.direct, "hand hasty", haste)),
			client.HandOver("redsync", "redsync, its own pauses", client.Redsync(s.tcp.direct, "hand redsync")),
			client.HandOver("fast", s.fast.Title+", `exclusive`", s.exclusives(redisTCP, "hand")...),
		},
	}
	s.add("Hand-over of a lock on Redis", baseline+` The latency is from the holder's call of release to the waiter's entry;
the rate and the processor time say nothing here, since a holder holds up to 100 ms. Cachewright's two are in two hosts.`, hand)
	return nil
}

func (s *Suite) free(int) []contest.Contender {
	enter := func(key, store string) contest.Contender {
		return client.Enter(key, fmt.Sprintf("%s, `exclusive` on %s", s.fast.Title, store), s.fast.Store(key).Exclusive("free"))
	}
	on := s.fast.Store(redisTCP).Exclusive("free")
	return []contest.Contender{
		client.Enter("redislock", "bsm/redislock", client.Redislock(s.tcp.direct, "free redislock", pause)),
		client.Enter("redsync", "redsync", client.Redsync(s.tcp.direct, "free redsync")),
		client.Enter("fast", s.fast.Title+", `exclusive` on Redis", on),
		client.Enter("grpc", s.grpc.Title+", `exclusive` on Redis", s.grpc.Store(redisTCP).Exclusive("free grpc")),
		enter("memory", "memory"), enter("file", "files"), enter("database", "PostgreSQL, unix socket"),
	}
}

// exclusives are the same lock in two hosts.
func (s *Suite) exclusives(store, key string) []client.Lock {
	return []client.Lock{s.fast.Store(store).Exclusive(key), s.another.Store(store).Exclusive(key)}
}
