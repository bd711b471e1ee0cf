package file

import (
	"context"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// fenceLife is how long the last fence of a lock is kept after its last use.
const fenceLife = 24 * time.Hour

// leases are the locks of a store: a tree of records for each strategy, apart
// from the entries. A record is changed under the momentary lock of its folder,
// so it outlives its holder and this process.
type leases struct {
	trees    map[string]*tree // by strategy
	sweepers []*sweeper
	watch    *watch
}

func newLeases(set *settings) *leases {
	l := &leases{trees: make(map[string]*tree), watch: newWatch()}
	for _, strategy := range []string{sdk.StrategyLease, sdk.StrategyExclusive} {
		t := newTree(set, "locks-"+strategy)
		l.trees[strategy] = t
		l.sweepers = append(l.sweepers, startSweeper(t, set.sweepInterval))
	}
	return l
}

func (l *leases) close() {
	for _, w := range l.sweepers {
		w.stop()
	}
	l.watch.close()
}

// AcquireLease is sdk.Leaser's.
func (s *store) AcquireLease(ctx context.Context, r sdk.LeaseRequest) (grant sdk.LeaseGrant, err error) {
	err = s.changeLease(ctx, r, creating, func(held record, now moment, write func(record) error) error {
		if held.live(r.Clock, now) && held.Owner != r.Owner {
			grant = sdk.LeaseGrant{Remaining: held.remaining(r.Clock, now)}
			return nil
		}
		if r.Strategy == sdk.StrategyExclusive && !(held.Owner == r.Owner && held.live(r.Clock, now)) {
			held.Fence = max(held.Fence+1, uint64(now.wall.UnixMicro()))
		}
		grant = held.grant(r)
		return write(held.until(r, now))
	})
	if err != nil {
		return sdk.LeaseGrant{}, err
	}
	return grant, nil
}

// RenewLease is sdk.LeaseRenewer's.
func (s *store) RenewLease(ctx context.Context, r sdk.LeaseRequest) (grant sdk.LeaseGrant, err error) {
	err = s.changeLease(ctx, r, existing, func(held record, now moment, write func(record) error) error {
		if !held.live(r.Clock, now) || held.Owner != r.Owner {
			return nil
		}
		grant = held.grant(r)
		return write(held.until(r, now))
	})
	if err != nil {
		return sdk.LeaseGrant{}, err
	}
	return grant, nil
}

// ReleaseLease is sdk.Leaser's. The record of an exclusive lock stays for its
// fence.
func (s *store) ReleaseLease(ctx context.Context, r sdk.LeaseRequest) (released bool, err error) {
	err = s.changeLease(ctx, r, existing, func(held record, now moment, write func(record) error) error {
		if !held.live(r.Clock, now) || held.Owner != r.Owner {
			return nil
		}
		released = true
		return write(record{Fence: held.Fence, Wall: now.wall.UnixNano()})
	})
	return released && err == nil, err
}

// changeLease reads the record of r's lock under the lock of its folder and
// lets fn decide. A record without owner and fence is removed.
func (s *store) changeLease(ctx context.Context, r sdk.LeaseRequest, create bool, fn func(held record, now moment, write func(record) error) error) error {
	return s.leases.trees[r.Strategy].change(ctx, r.Key, create, func(l lockedFolder, name string) error {
		held, err := readRecord(l.folder, name, r.Key)
		if err != nil {
			return err
		}
		return fn(held, s.leases.now(), func(changed record) error {
			if changed.Owner == "" && changed.Fence == 0 {
				return l.removeIfThere(name)
			}
			return l.put(ctx, name, r.Key, changed.keepUntil(), changed.encode())
		})
	})
}
