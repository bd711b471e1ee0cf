package core

import (
	"context"

	"github.com/cachewright/cachewright/core/internal/config"
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

	Block LockConfig `json:"-"` // what the store's lock block says
}

// LockInfo opens the store and describes its locks, by what its driver
// announced and its lock block says. A store that can't lock fails with an
// error that matches errors.ErrUnsupported. A lock block that the driver can't
// carry out fails with one that also matches ErrInvalidConfig, and says where
// the block stands.
func (r *CacheRepository) LockInfo(ctx context.Context) (LockInfo, error) {
	c, err := r.store.begin(ctx, OpOpen, "", 0)
	if err != nil {
		return LockInfo{}, err
	}
	locks := c.opened.locks
	strategy := r.store.strategy(c.opened)
	if err := c.end(Outcome{Err: r.store.checkLockBlock(c.opened)}); err != nil {
		return LockInfo{}, err
	}
	scope := locks.Store.Traits().LockScope
	if strategy == sdk.StrategyLocal {
		scope = sdk.ScopeProcess
	}
	m := lock.MeaningOf(strategy)
	info := LockInfo{
		Strategy: strategy, Scope: string(scope), Renewed: m.Renewed, Timeout: m.Timeout(), OwnerChecked: locks.OwnerChecked(strategy),
		Block: r.store.lockBlock(),
	}
	if lease := locks.DefaultLease(strategy, r.store.timing); lease > 0 {
		info.DefaultLease = lease.String()
	}
	return info, nil
}

func (s *store) lockBlock() LockConfig {
	return LockConfig{Strategy: s.lock, Timeout: s.timing.Timeout, Wait: s.timing.Wait, Lease: s.timing.Lease}
}

// checkLockBlock finds what only an opened store can tell of its lock block:
// that its driver has no such strategy, or no leases as short.
func (s *store) checkLockBlock(o *openedStore) error {
	strategy, err := lock.Of(s.strategy(o), o.locks)
	switch {
	case err != nil && s.lock == "":
		return err
	case err != nil:
		return s.misconfigured("strategy", err)
	}
	if err := strategy.Check(s.timing); err != nil {
		return s.misconfigured("lease", err) // the file has been checked for all else
	}
	return nil
}

// misconfigured says where a key of the lock block stands.
func (s *store) misconfigured(key string, err error) error {
	key = "stores." + s.name + ".lock." + key
	return &lockBlockError{config.Problem{Position: s.manager.config.Origin(key), Key: key, Reason: err.Error()}, err}
}

// A lockBlockError is a mistake in the configuration that only a driver knew to
// be one.
type lockBlockError struct {
	problem config.Problem
	err     error
}

func (e *lockBlockError) Error() string        { return e.problem.String() }
func (e *lockBlockError) Is(target error) bool { return target == ErrInvalidConfig }
func (e *lockBlockError) Unwrap() error        { return e.err }
