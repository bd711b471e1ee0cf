package redis_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
	goredis "github.com/redis/go-redis/v9"
)

func TestAFailoverUnderSentinelKeepsWhatTheReplicaConfirmed(t *testing.T) {
	t.Parallel()
	set := servertest.StartSentinel(t, servertest.SentinelOptions{})
	store := opened(t, map[string]any{"sentinel": map[string]any{"master": servertest.SentinelName, "addrs": set.Addrs()}})
	failover(t, store, []*servertest.Redis{set.Nodes[0]}, func() {
		set.Nodes[0].Kill(t)
		set.AwaitFailover(t, set.Nodes[0])
	})
}

func TestTheLossOfAClusterMasterKeepsWhatItsReplicaConfirmed(t *testing.T) {
	t.Parallel()
	cluster := servertest.StartCluster(t, servertest.ClusterOptions{Replicas: 1})
	store := opened(t, map[string]any{"cluster": map[string]any{"addrs": cluster.Addrs()}})
	failover(t, store, cluster.Nodes[:3], func() { cluster.Nodes[0].Kill(t) })
}

func TestAPlannedFailoverIsFollowed(t *testing.T) {
	t.Parallel()
	set := servertest.StartSentinel(t, servertest.SentinelOptions{})
	store := opened(t, map[string]any{"sentinel": map[string]any{"master": servertest.SentinelName, "addrs": set.Addrs()}})
	ctx := within(t, 2*patience)
	if err := store.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	command(t, observer(t, set.Sentinels[0]), "sentinel", "failover", servertest.SentinelName)
	promoted := observer(t, set.AwaitFailover(t, set.Nodes[0]))
	eventually(t, "writes reach the new master", func() error {
		if err := store.Set(ctx, "k", []byte("v"), sdk.NoExpiry); err != nil {
			return err
		}
		return promoted.Get(ctx, "k").Err()
	})
}

// failover lets writers work while happen happens to the first of the masters,
// and compares what is there at the end with what replicas had confirmed.
func failover(t *testing.T, store *sdk.Instance, masters []*servertest.Redis, happen func()) {
	ctx := within(t, 2*patience)
	w := &writers{store: store, done: make(map[string]bool), confirmed: make(map[string]bool)}
	stop := load(ctx, 8, w.write)
	w.moment(t, 500)
	admins := make([]*goredis.Client, len(masters))
	for i, master := range masters {
		admins[i] = observer(t, master)
	}
	for range 5 {
		w.confirm(ctx, t, admins)
	}
	w.moment(t, 500)
	happen()
	broken := time.Now()
	for i := range 8 { // every writer works again
		eventually(t, "calls work after the failover", func() error {
			return store.Set(ctx, fmt.Sprintf("after-%d-%d", i, i*1234), []byte("v"), sdk.NoExpiry)
		})
	}
	for i := range 100 { // in all slots
		eventually(t, "calls work after the failover", func() error {
			_, err := store.Increment(ctx, fmt.Sprint("after-", i), 1, time.Hour)
			return err
		})
	}
	t.Logf("all calls worked %v after the failover", time.Since(broken).Round(time.Millisecond))
	w.moment(t, 500)
	stop()
	w.compare(ctx, t)
}

// writers write keys, each once, and remember which writes were done, and which
// of those were confirmed by a replica.
type writers struct {
	store *sdk.Instance

	mu              sync.Mutex // guards below
	done, confirmed map[string]bool
	failed          int
	strange         error
}

func (w *writers) write(ctx context.Context, i int) {
	for n := 0; ctx.Err() == nil; n++ {
		key := fmt.Sprintf("w%d-%d", i, n)
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		err := w.store.Set(call, key, []byte("v"), sdk.NoExpiry)
		cancel()
		w.note(key, err)
	}
}

func (w *writers) note(key string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.done[key] = true
	case errors.Is(err, sdk.ErrUnavailable), errors.Is(err, sdk.ErrMaybeApplied), errors.Is(err, context.DeadlineExceeded):
		w.failed++
	default:
		w.strange = err
	}
}

// moment waits until n more writes were done.
func (w *writers) moment(t *testing.T, n int) {
	t.Helper()
	count := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.done)
	}
	before := count()
	eventually(t, "writes are done", func() error {
		if now := count(); now-before < n {
			return fmt.Errorf("%d were done", now-before)
		}
		return nil
	})
}

// confirm waits until replicas have what was written before: a replica that has
// a later write has all earlier ones.
func (w *writers) confirm(ctx context.Context, t *testing.T, masters []*goredis.Client) {
	t.Helper()
	w.mu.Lock()
	keys := make([]string, 0, len(w.done))
	for key := range w.done {
		keys = append(keys, key)
	}
	w.mu.Unlock()
	for _, master := range masters {
		conn := master.Conn() // WAIT speaks of the writes of its own connection
		defer conn.Close()
		if err := mark(ctx, conn); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Do(ctx, "wait", 1, 10_000).Int(); n < 1 || err != nil {
			t.Fatalf("WAIT 1 = %d, %v", n, err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		w.confirmed[key] = true
	}
}

// mark writes a key: in a Cluster one that is the node's.
func mark(ctx context.Context, conn *goredis.Conn) (err error) {
	for i := range 10_000 {
		err = conn.Set(ctx, fmt.Sprint("marker-", i), "v", 0).Err()
		if _, moved := goredis.IsMovedError(err); !moved {
			return err
		}
	}
	return err
}

// compare counts what is missing.
func (w *writers) compare(ctx context.Context, t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := make([]string, 0, len(w.done))
	for key := range w.done {
		keys = append(keys, key)
	}
	found, err := w.store.GetMany(ctx, keys)
	if err != nil {
		t.Fatal(err)
	}
	lost, unforgivable := 0, 0
	for i, key := range keys {
		if found[i].Err != nil {
			t.Fatal(found[i].Err)
		}
		if !found[i].OK {
			lost++
			if w.confirmed[key] {
				unforgivable++
			}
		}
	}
	t.Logf("%d writes were done, %d of them confirmed by a replica before the failover, %d were refused or given up; %d are lost, %d of them confirmed",
		len(keys), len(w.confirmed), w.failed, lost, unforgivable)
	if unforgivable > 0 {
		t.Errorf("%d confirmed writes are lost", unforgivable)
	}
	if w.strange != nil {
		t.Errorf("a write failed with: %v", w.strange)
	}
}
