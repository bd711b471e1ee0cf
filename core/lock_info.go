package core

import (
	"context"

	"github.com/cachewright/cachewright/core/internal/lock"
	"github.com/cachewright/cachewright/sdk"
)

// A LockInfo is what the locks of a store are, unless a lock's own options say
// otherwise.
type LockInfo struct {
	Strategy     string `json:"strategy"`
	Scope        string `json:"scope"`                   // how far they reach: process, host or cluster
	DefaultLease string `json:"default_lease,omitempty"` // "": they don't end by themselves
	Renewed      bool   `json:"renewed"`                 // the lease is prolonged while the block runs
	Timeout      string `json:"timeout"`                 // what LockTimeout does, in words
	OwnerChecked bool   `json:"owner_checked"`           // a release leaves another owner's lock alone
}

// LockInfo opens the store and describes its locks, by what its driver
// announced and its lock block says. A store that can't lock fails with an
// error that matches errors.ErrUnsupported.
func (r *CacheRepository) LockInfo(ctx context.Context) (LockInfo, error) {
	c, err := r.store.begin(ctx, OpOpen, "", 0)
	if err != nil {
		return LockInfo{}, err
	}
	locks := c.opened.locks
	strategy := r.store.strategy(c.opened)
	_, err = lock.Of(strategy, locks)
	if err := c.end(Outcome{Err: err}); err != nil {
		return LockInfo{}, err
	}
	scope := locks.Store.Traits().LockScope
	if strategy == sdk.StrategyLocal {
		scope = sdk.ScopeProcess
	}
	m := lock.MeaningOf(strategy)
	info := LockInfo{Strategy: strategy, Scope: string(scope), Renewed: m.Renewed, Timeout: m.Timeout(), OwnerChecked: locks.OwnerChecked(strategy)}
	if lease := locks.DefaultLease(strategy, r.store.timing); lease > 0 {
		info.DefaultLease = lease.String()
	}
	return info, nil
}
