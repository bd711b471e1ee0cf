package lock

import (
	"context"
	"sync"
	"time"

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
	deadline time.Duration                // on the Elapsed clock; the lease is kept until then
	pass     func()                       // lets the next participant of this process try
	kept     func(deadline time.Duration) // hears of every new deadline

	stop   context.CancelFunc
	done   chan struct{} // closed when the renewal has ended
	forget func()        // ends the notice of restarts

	mu     sync.Mutex // guards below
	lost   bool
	passed bool
	onLost func()
}

// A restarter tells when a store lost its data and locks with its process.
type restarter interface {
	OnRestart(f func(generation uint64)) (remove func())
}

// keep starts the renewal and hands out the lock.
func (k *keeper) keep() Held {
	ctx, stop := context.WithCancel(context.Background())
	k.stop, k.done, k.forget = stop, make(chan struct{}), func() {}
	if r, ok := k.backend.Store.(restarter); ok {
		k.forget = r.OnRestart(func(uint64) { k.lose() })
	}
	k.kept(k.deadline)
	k.backend.Go(func() { k.run(ctx) })
	return Held{Release: k.release, Fence: k.fence, Watch: k.watch, Lost: k.isLost}
}

// release stops the renewal, then gives the lease back. One that was no longer
// ours was lost without anybody's notice.
func (k *keeper) release(ctx context.Context) error {
	k.forget()
	k.stop()
	<-k.done
	defer k.passOn()
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
	k.stop()
	k.mu.Lock()
	if !k.lost && k.onLost != nil {
		k.onLost()
	}
	k.lost = true
	k.mu.Unlock()
	k.passOn()
}

func (k *keeper) passOn() {
	k.mu.Lock()
	first := !k.passed
	k.passed = true
	k.mu.Unlock()
	if first {
		k.pass()
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
	due := k.deadline - k.request.Lease + k.request.Lease/3
	for {
		left := due - k.backend.Elapsed()
		if left <= 0 {
			return k.renew(ctx)
		}
		if !sleep(ctx, min(left, watchEvery)) {
			return false
		}
	}
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
			k.deadline = asked + k.request.Lease
			k.kept(k.deadline)
			return k.backend.Elapsed() < k.deadline
		}
		if err == nil || !sleep(ctx, min(retry, max(k.deadline-k.backend.Elapsed(), 0))) {
			return false
		}
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
