package servertest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// ClusterOptions are the shape of a Redis Cluster.
type ClusterOptions struct {
	// Masters is 3 if it is zero; a cluster with fewer never elects another.
	Masters int
	// Replicas is how many each master has.
	Replicas int
	// Password is asked for by every node, if it is not empty.
	Password string
	// Config is further lines of every node's redis.conf.
	Config []string
	// Proxied puts a proxy in front of every node, whose address the node
	// announces as its own: clients, and replicas, come through it.
	Proxied bool
}

// Cluster is a Redis Cluster whose nodes notice a dead one after a second.
type Cluster struct {
	// Nodes are the servers: first those that began as masters, then replicas.
	Nodes []*Redis
	// Proxies stand before the nodes of the same index, if they were wanted.
	Proxies []*Proxy
}

const slots = 16384

// StartCluster starts the nodes, joins them, and waits until every node serves
// all slots and every replica follows its master.
func StartCluster(t testing.TB, options ClusterOptions) *Cluster {
	t.Helper()
	if options.Masters == 0 {
		options.Masters = 3
	}
	c := &Cluster{}
	for range options.Masters * (1 + options.Replicas) {
		c.startNode(t, options)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	if err := c.join(ctx, options.Masters); err != nil {
		t.Fatalf("servertest: join the cluster: %v", err)
	}
	return c
}

// Addrs returns where a client may enter: every node, or its proxy.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, node := range c.Nodes {
		addrs[i] = node.Addr()
		if c.Proxies != nil {
			addrs[i] = c.Proxies[i].Addr()
		}
	}
	return addrs
}

func (c *Cluster) startNode(t testing.TB, options ClusterOptions) {
	t.Helper()
	p := takePort(t, true)
	config := append([]string{
		"cluster-enabled yes",
		"cluster-config-file nodes.conf",
		"cluster-node-timeout 1000",
	}, options.Config...)
	if options.Proxied {
		proxy := StartProxy(t, "tcp", p.addr())
		c.Proxies = append(c.Proxies, proxy)
		_, port, _ := net.SplitHostPort(proxy.Addr())
		config = append(config, "cluster-announce-port "+port)
	}
	node := newRedis(t, p, options.Password, config)
	node.Start(t)
	c.Nodes = append(c.Nodes, node)
}

// join gives every master its slots and an epoch of its own, lets all nodes
// meet, and attaches the replicas, round the masters in turn.
func (c *Cluster) join(ctx context.Context, masters int) error {
	clients := make([]*redis.Client, len(c.Nodes))
	for i, node := range c.Nodes {
		clients[i] = node.client()
		defer clients[i].Close()
	}
	for i, client := range clients {
		err := client.Do(ctx, "cluster", "set-config-epoch", i+1).Err()
		if err == nil && i < masters {
			err = client.ClusterAddSlotsRange(ctx, i*slots/masters, (i+1)*slots/masters-1).Err()
		}
		if err == nil && i > 0 {
			err = client.ClusterMeet(ctx, "127.0.0.1", fmt.Sprint(c.Nodes[0].Port())).Err()
		}
		if err != nil {
			return err
		}
	}
	if err := all(ctx, clients, clusterInfo, fmt.Sprintf("cluster_known_nodes:%d\r", len(clients))); err != nil {
		return err
	}
	for i, client := range clients[masters:] {
		if err := follow(ctx, client, clients[i%masters]); err != nil {
			return err
		}
	}
	if err := all(ctx, clients[masters:], replicationInfo, "master_link_status:up\r"); err != nil {
		return err
	}
	return all(ctx, clients, clusterInfo, "cluster_state:ok\r")
}

// follow waits until the replica has heard of its master.
func follow(ctx context.Context, replica, master *redis.Client) error {
	id, err := master.Do(ctx, "cluster", "myid").Text()
	if err != nil {
		return err
	}
	return until(ctx, func() error { return replica.ClusterReplicate(ctx, id).Err() })
}

func clusterInfo(ctx context.Context, client *redis.Client) (string, error) {
	return client.ClusterInfo(ctx).Result()
}

func replicationInfo(ctx context.Context, client *redis.Client) (string, error) {
	return client.Info(ctx, "replication").Result()
}

// all waits until each node's info contains want.
func all(ctx context.Context, nodes []*redis.Client, info infoFunc, want string) error {
	for _, node := range nodes {
		if err := awaitInfo(ctx, node, info, want); err != nil {
			return err
		}
	}
	return nil
}

// An infoFunc asks a server about itself.
type infoFunc func(context.Context, *redis.Client) (string, error)

func awaitInfo(ctx context.Context, client *redis.Client, info infoFunc, want string) error {
	return until(ctx, func() error {
		text, err := info(ctx, client)
		if err == nil && !strings.Contains(text, want) {
			err = fmt.Errorf("no %q in:\n%s", want, text)
		}
		return err
	})
}

// until repeats try until it succeeds or ctx ends; the error is try's last.
func until(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(poll):
		}
	}
}
