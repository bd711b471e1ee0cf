package lockcheck

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/servertest"
)

// lease is the shortest that drivers take, so that faults outlast it soon.
const lease = time.Second

// A backend is where a lock's record is, and what can happen to it.
type backend struct {
	store     cache.StoreConfig
	transport string // what the calls of its drivers travel on; "": auto
	processes int
	faults    []Fault // at least one of everything
	more      []Fault // for long runs
	// slack is added to a third of the lease, within which a holder hears that
	// the record was lost.
	slack time.Duration
}

// overGRPC is a backend whose calls don't take the fast plane.
func overGRPC(start func(testing.TB) backend) func(testing.TB) backend {
	return func(t testing.TB) backend {
		b := start(t)
		b.transport = "grpc"
		return b
	}
}

func fileBackend(t testing.TB) backend {
	return backend{store: cache.StoreConfig{Driver: "file", Options: map[string]any{"path": t.TempDir()}}, processes: 3}
}

// memoryBackend is one process: nobody else sees its locks, and they end with
// it.
func memoryBackend(testing.TB) backend {
	return backend{store: cache.StoreConfig{Driver: "memory"}, processes: 1}
}

func databaseBackend(t testing.TB) backend {
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	proxy := servertest.StartProxy(t, "tcp", server.Addr())
	return backend{
		store:     cache.StoreConfig{Driver: "database", Options: map[string]any{"dsn": "postgres://postgres@" + proxy.Addr() + "/postgres?sslmode=disable"}},
		processes: 3,
		faults: []Fault{
			stall(t, proxy),
			With("kill the server", func() { server.Kill(t); server.Start(t) }, func() {}, 0, lease/2),
		},
		more: append(networkFaults(t, proxy),
			With("restart the server", func() { server.Restart(t) }, func() {}, 0, lease/2)),
	}
}

// redisBackend keeps its records through a restart.
func redisBackend(t testing.TB) backend {
	server := servertest.StartRedis(t, servertest.RedisOptions{Config: []string{"appendonly yes", "appendfsync always"}})
	proxy := servertest.StartProxy(t, "tcp", server.Addr())
	return backend{
		store:     cache.StoreConfig{Driver: "redis", Options: map[string]any{"addr": proxy.Addr()}},
		processes: 3,
		faults: []Fault{
			stall(t, proxy),
			With("kill the server", func() { server.Kill(t); server.Start(t) }, func() {}, 0, lease/2),
		},
		more: append(networkFaults(t, proxy),
			With("restart the server", func() { server.Restart(t) }, func() {}, 0, lease/2)),
	}
}

func clusterBackend(t testing.TB) backend {
	cluster := servertest.StartCluster(t, servertest.ClusterOptions{
		Proxied: true, Config: []string{"appendonly yes", "appendfsync always"},
	})
	restart := func() {
		for _, node := range cluster.Nodes {
			node.Kill(t)
			node.Start(t)
		}
	}
	return backend{
		store:     cache.StoreConfig{Driver: "redis", Options: map[string]any{"cluster": map[string]any{"addrs": cluster.Addrs()}}},
		processes: 3,
		faults: []Fault{
			stall(t, cluster.Proxies...),
			With("kill every node in turn", restart, func() {}, 0, lease/2),
		},
		more: networkFaults(t, cluster.Proxies...),
	}
}

// forgetfulRedisBackend keeps nothing on disk.
func forgetfulRedisBackend(t testing.TB) backend {
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	return backend{
		store:     cache.StoreConfig{Driver: "redis", Options: map[string]any{"addr": server.Addr()}},
		processes: 3,
		faults:    []Fault{Forget("restart the server without a disk", func() { server.Restart(t) }, lease)},
		slack:     lease / 2,
	}
}

func memcachedBackend(t testing.TB) backend {
	server := servertest.StartMemcached(t, servertest.MemcachedOptions{})
	proxy := servertest.StartProxy(t, "tcp", server.Addr())
	flush := func() {
		if err := flushAll(server.Addr()); err != nil {
			t.Fatal(err)
		}
	}
	return backend{
		store:     cache.StoreConfig{Driver: "memcached", Options: map[string]any{"servers": []string{proxy.Addr()}}},
		processes: 3,
		faults: []Fault{
			stall(t, proxy),
			Forget("restart the server", func() { server.Restart(t) }, lease),
			Forget("flush_all", flush, lease),
		},
		more:  networkFaults(t, proxy),
		slack: lease / 2,
	}
}

func flushAll(addr string) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := fmt.Fprint(conn, "flush_all\r\n"); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && answer != "OK\r\n" {
		err = fmt.Errorf("flush_all is answered by %q", answer)
	}
	return err
}

// stall outlasts a lease.
func stall(t testing.TB, proxies ...*servertest.Proxy) Fault {
	return With("stall the network", each(proxies, (*servertest.Proxy).Stall), heal(t, proxies), lease*5/4, lease*3/2)
}

func networkFaults(t testing.TB, proxies ...*servertest.Proxy) []Fault {
	return []Fault{
		With("stall the network for a moment", each(proxies, (*servertest.Proxy).Stall), heal(t, proxies), 0, lease/2),
		With("reset connections", each(proxies, (*servertest.Proxy).Reset), heal(t, proxies), 0, lease/2),
		With("hold replies", each(proxies, func(p *servertest.Proxy) { p.HoldReplies("") }), heal(t, proxies), 0, lease*5/4),
	}
}

func each(proxies []*servertest.Proxy, f func(*servertest.Proxy)) func() {
	return func() {
		for _, p := range proxies {
			f(p)
		}
	}
}

func heal(t testing.TB, proxies []*servertest.Proxy) func() {
	return each(proxies, func(p *servertest.Proxy) { p.Heal(t) })
}

// few are the backend's own faults and those of processes.
func (b backend) few() []Fault {
	faults := append([]Fault{FreezeHolder(lease), KillDriver(lease), FreezeDriver(lease)}, b.faults...)
	if b.processes > 1 {
		faults = append(faults, KillHolder())
	}
	return faults
}

// all are those that happen by chance, too.
func (b backend) all() []Fault {
	faults := append(append(b.few(), b.more...), FreezeAny(lease), KillAnyDriver())
	if b.processes > 1 {
		faults = append(faults, KillAny())
	}
	return faults
}
