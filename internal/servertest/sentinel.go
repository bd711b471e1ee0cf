package servertest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
)

// SentinelName is what the Sentinels call the master.
const SentinelName = "main"

// SentinelOptions are the shape of a Redis that Sentinels watch.
type SentinelOptions struct {
	// Replicas is 1 if it is zero.
	Replicas int
	// Sentinels is 3 if it is zero; the quorum is their majority.
	Sentinels int
	// Password is asked for by master and replicas, if it is not empty.
	Password string
	// Config is further lines of the redis.conf of master and replicas.
	Config []string
}

// Sentinel is a master with replicas, and the Sentinels that take a master for
// dead after half a second and promote a replica.
type Sentinel struct {
	// Nodes are the servers; the first one began as the master.
	Nodes []*Redis
	// Sentinels are the processes that watch them.
	Sentinels []*Redis
}

// StartSentinel starts them all, and waits until every replica follows and
// every Sentinel knows all replicas and all other Sentinels.
func StartSentinel(t testing.TB, options SentinelOptions) *Sentinel {
	t.Helper()
	if options.Replicas == 0 {
		options.Replicas = 1
	}
	if options.Sentinels == 0 {
		options.Sentinels = 3
	}
	s := &Sentinel{}
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	if err := s.startNodes(ctx, t, options); err != nil {
		t.Fatalf("servertest: replicate: %v", err)
	}
	if err := s.startSentinels(ctx, t, options); err != nil {
		t.Fatalf("servertest: the Sentinels don't find each other: %v", err)
	}
	return s
}

// Addrs returns the addresses of the Sentinels.
func (s *Sentinel) Addrs() []string {
	addrs := make([]string, len(s.Sentinels))
	for i, sentinel := range s.Sentinels {
		addrs[i] = sentinel.Addr()
	}
	return addrs
}

// Master returns the node that the Sentinels take for the master.
func (s *Sentinel) Master(t testing.TB) *Redis {
	t.Helper()
	return s.await(t, "agree on a master", func(*Redis) bool { return true })
}

// AwaitFailover waits until the Sentinels have put another node in old's place,
// and returns it.
func (s *Sentinel) AwaitFailover(t testing.TB, old *Redis) *Redis {
	t.Helper()
	return s.await(t, "promote a replica", func(master *Redis) bool { return master != old })
}

func (s *Sentinel) await(t testing.TB, what string, right func(master *Redis) bool) (master *Redis) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	err := until(ctx, func() (err error) {
		master, err = s.agreed(ctx)
		if err == nil && !right(master) {
			err = fmt.Errorf("it is %s", master.Addr())
		}
		return err
	})
	if err != nil {
		t.Fatalf("servertest: the Sentinels don't %s: %v", what, err)
	}
	return master
}

// agreed returns the node that every running Sentinel names.
func (s *Sentinel) agreed(ctx context.Context) (*Redis, error) {
	var named []string
	for _, sentinel := range s.Sentinels {
		if sentinel.PID() == 0 {
			continue
		}
		client := sentinel.sentinelClient()
		addr, err := client.GetMasterAddrByName(ctx, SentinelName).Result()
		client.Close()
		if err != nil {
			return nil, err
		}
		named = append(named, net.JoinHostPort(addr[0], addr[1]))
	}
	named = slices.Compact(named)
	for _, node := range s.Nodes {
		if len(named) == 1 && node.Addr() == named[0] {
			return node, nil
		}
	}
	return nil, fmt.Errorf("they name %v", named)
}

func (s *Sentinel) startNodes(ctx context.Context, t testing.TB, options SentinelOptions) error {
	t.Helper()
	for range 1 + options.Replicas {
		config := options.Config
		if len(s.Nodes) > 0 {
			config = append([]string{fmt.Sprintf("replicaof 127.0.0.1 %d", s.Nodes[0].Port())}, config...)
		}
		s.Nodes = append(s.Nodes, StartRedis(t, RedisOptions{Password: options.Password, Config: config}))
	}
	for _, replica := range s.Nodes[1:] {
		client := replica.client()
		defer client.Close()
		if err := awaitInfo(ctx, client, replicationInfo, "master_link_status:up\r"); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sentinel) startSentinels(ctx context.Context, t testing.TB, options SentinelOptions) error {
	t.Helper()
	config := []string{
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d %d", SentinelName, s.Nodes[0].Port(), options.Sentinels/2+1),
		fmt.Sprintf("sentinel down-after-milliseconds %s 500", SentinelName),
		fmt.Sprintf("sentinel failover-timeout %s 3000", SentinelName),
	}
	if options.Password != "" {
		config = append(config, fmt.Sprintf("sentinel auth-pass %s %q", SentinelName, options.Password))
	}
	for range options.Sentinels {
		sentinel := newRedis(t, takePort(t, false), "", config, "--sentinel")
		sentinel.Start(t)
		s.Sentinels = append(s.Sentinels, sentinel)
	}
	for _, sentinel := range s.Sentinels {
		if err := sentinel.awaitAcquaintance(ctx, options); err != nil {
			return err
		}
	}
	return nil
}

// awaitAcquaintance waits until a Sentinel knows whom it has to.
func (r *Redis) awaitAcquaintance(ctx context.Context, options SentinelOptions) error {
	client := r.sentinelClient()
	defer client.Close()
	return until(ctx, func() error {
		master, err := client.Master(ctx, SentinelName).Result()
		if err != nil {
			return err
		}
		if master["num-slaves"] != strconv.Itoa(options.Replicas) ||
			master["num-other-sentinels"] != strconv.Itoa(options.Sentinels-1) || master["flags"] != "master" {
			return fmt.Errorf("it knows %v", master)
		}
		return nil
	})
}

func (r *Redis) sentinelClient() *redis.SentinelClient {
	return redis.NewSentinelClient(&redis.Options{Network: "unix", Addr: r.socket})
}
