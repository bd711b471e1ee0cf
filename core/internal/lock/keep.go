package lock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cachewright/cachewright/internal/lockwatch"
	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

// watchEvery is how often a keeper looks at the clock at least: timers stand
// still while the machine is suspended, leases don't.
const watchEvery = time.Second

// A keeper keeps a lease while the block runs.
type keeper struct {
	backend  *Backend
	request  sdk.LeaseRequest
	fence    uint64
	deadline time.Duration  // on the Elapsed clock; the lease is kept until then
	kept     lockwatch.Func // hears of every new deadline, and of the loss
	forget   func()         // ends the notice of restarts

	stop  context.CancelFunc
	start *time.Timer   // begins the renewal, which a short block never sees
	done  chan struct{} // closed when the renewal has ended

	mu     sync.Mutex // guards below
	lost   bool
	pass   func() // lets the next participant of this process try; nil before the entry, and once called
	onLost func()
}

// A restarter tells when a store lost its data and locks with its process.
type restarter interface {
	OnRestart(f func(generation uint64)) (remove func())
}

// newKeeper makes the keeper of a lease that is about to be asked for. From
// here on it hears of restarts, and its time runs. forget ends it if there is
// nothing to keep.
func newKeeper(ctx context.Context, b *Backend, r sdk.LeaseRequest) *keeper {
	k := &keeper{backend: b, request: r, kept: lockwatch.From(ctx), forget: func() {}}
	if store, ok := b.Store.(restarter); ok {
		k.forget = store.OnRestart(func(uint64) { k.lose() })
	}
	k.deadline = b.Elapsed() + r.Lease
	return k
}

// enter takes the lease that was granted, if it is still there, and starts the
// renewal.
func (k *keeper) enter(fence uint64, pass func()) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lost || k.backend.Elapsed() >= k.deadline {
		return false
	}
	ctx, stop := context.WithCancel(context.Background())
	k.fence, k.pass, k.stop, k.done = fence, pass, stop, make(chan struct{})
	k.kept(k.request.Key, k.deadline)
	k.start = time.AfterFunc(min(k.untilDue(), watchEvery), func() { k.run(ctx) })
	return true
}

func (k *keeper) held() Held {
	return Held{Release: k.release, Fence: k.fence, Watch: k.watch, Lost: k.isLost}
}

// release stops the renewal, then gives the lease back. One that was no longer
// ours was lost without anybody's notice.
func (k *keeper) release(ctx context.Context) error {
	k.forget()
	k.stop()
	defer k.passOn()
	if !k.start.Stop() {
		select {
		case <-k.done:
		case <-ctx.Done():
			return fmt.Errorf("the last renewal does not end: %w", ctx.Err())
		}
	}
	released, err := k.backend.Store.ReleaseLease(ctx, k.request)
	if err == nil && !released {
		return wire.ErrLockLost
	}
	return err
}

func (k *keeper) watch(lost func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.onLost = lost
	if k.lost {
		lost()
	}
}

func (k *keeper) isLost() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lost
}

// lose ends the block's context, and does not wait for the block: one that
// ignores the loss must not keep the next participant out.
func (k *keeper) lose() {
	k.mu.Lock()
	if !k.lost && k.onLost != nil {
		k.onLost()
	}
	if !k.lost && k.stop != nil {
		k.kept(k.request.Key, k.backend.Elapsed())
	}
	k.lost = true
	if k.stop != nil {
		k.stop()
	}
	k.mu.Unlock()
	k.passOn()
}

func (k *keeper) passOn() {
	k.mu.Lock()
	pass := k.pass
	k.pass = nil
	k.mu.Unlock()
	if pass != nil {
		pass()
	}
}

// run renews at a third of the lease. It ends when the block is over or the
// lease is lost.
func (k *keeper) run(ctx context.Context) {
	defer close(k.done)
	for k.renewWhenDue(ctx) {
	}
	if ctx.Err() == nil {
		k.lose()
	}
}

// renewWhenDue waits for the next renewal and makes it; it reports whether the
// lease is still kept and the block still runs.
func (k *keeper) renewWhenDue(ctx context.Context) bool {
	for {
		left := k.untilDue()
		if left <= 0 {
			return k.renew(ctx)
		}
		if !sleep(ctx, min(left, watchEvery)) {
			return false
		}
	}
}

func (k *keeper) untilDue() time.Duration {
	return k.deadline - k.request.Lease + k.request.Lease/3 - k.backend.Elapsed()
}

// renew tries until it succeeds, or the lease is another's, or over.
func (k *keeper) renew(ctx context.Context) bool {
	retry := max(k.request.Lease/30, time.Millisecond)
	for {
		asked := k.backend.Elapsed()
		left := k.deadline - asked
		if left <= 0 {
			return false
		}
		grant, err := k.ask(ctx, left)
		if err == nil && grant.OK {
			k.prolong(asked + k.request.Lease)
			return k.backend.Elapsed() < k.deadline
		}
		if err == nil || !sleep(ctx, min(retry, max(k.deadline-k.backend.Elapsed(), 0))) {
			return false
		}
	}
}

// prolong moves the deadline. A holder that has been told of a loss believes it.
func (k *keeper) prolong(deadline time.Duration) {
	k.deadline = deadline
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.lost {
		k.kept(k.request.Key, deadline)
	}
}

// ask leaves room for a second try within what is left of the lease.
func (k *keeper) ask(ctx context.Context, left time.Duration) (sdk.LeaseGrant, error) {
	ctx, cancel := context.WithTimeout(ctx, min(max(left/2, time.Millisecond), k.backend.CallTimeout))
	defer cancel()
	return k.backend.Store.RenewLease(ctx, k.request)
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
