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
	deadline time.Duration // on the Elapsed clock; the lease is kept until then
	pass     func()        // lets the next participant of this process try

	stop context.CancelFunc
	done chan struct{}
	lost chan struct{}
	once sync.Once // pass is called once
}

// keep starts the renewal and hands out the lock.
func (k *keeper) keep() Held {
	ctx, stop := context.WithCancel(context.Background())
	k.stop, k.done, k.lost = stop, make(chan struct{}), make(chan struct{})
	k.backend.Go(func() { k.run(ctx) })
	return Held{Release: k.release, Fence: k.fence, Lost: k.lost}
}

// release stops the renewal, then gives the lease back. One that was no longer
// ours was lost without anybody's notice.
func (k *keeper) release(ctx context.Context) error {
	k.stop()
	<-k.done
	defer k.once.Do(k.pass)
	released, err := k.backend.Store.ReleaseLease(ctx, k.request)
	if err == nil && !released {
		return wire.ErrLockLost
	}
	return err
}

// run renews at a third of the lease. It ends when the block is over or the
// lease is lost; the next participant need not wait for a block that ignores
// the loss.
func (k *keeper) run(ctx context.Context) {
	defer close(k.done)
	for k.renewUntilDue(ctx) {
	}
	if ctx.Err() == nil {
		close(k.lost)
		k.once.Do(k.pass)
	}
}

// renewUntilDue waits for the next renewal and makes it; it reports whether the
// lease is still kept and the block still runs.
func (k *keeper) renewUntilDue(ctx context.Context) bool {
	due := k.deadline - k.request.Lease + k.request.Lease/3
	for k.backend.Elapsed() < due {
		if !sleep(ctx, min(due-k.backend.Elapsed(), watchEvery)) {
			return false
		}
	}
	return k.renew(ctx)
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
		switch {
		case err == nil && !grant.OK:
			return false
		case err == nil:
			k.deadline = asked + k.request.Lease
			return k.backend.Elapsed() < k.deadline
		}
		if !sleep(ctx, min(retry, max(k.deadline-k.backend.Elapsed(), 0))) {
			return false
		}
	}
}

func (k *keeper) ask(ctx context.Context, left time.Duration) (sdk.LeaseGrant, error) {
	ctx, cancel := context.WithTimeout(ctx, min(left, k.backend.CallTimeout))
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
