package host

import (
	"context"

	"github.com/cachewright/cachewright/sdk"
)

// AcquireLease is sdk.Leaser's. It names its owner, so that it is sent again: a
// lease that is this owner's already is granted to it again.
func (r *RemoteStore) AcquireLease(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	return call(ctx, r, again, func(ctx context.Context, s Store) (sdk.LeaseGrant, error) { return s.AcquireLease(ctx, q) })
}

// RenewLease is sdk.LeaseRenewer's.
func (r *RemoteStore) RenewLease(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	return call(ctx, r, again, func(ctx context.Context, s Store) (sdk.LeaseGrant, error) { return s.RenewLease(ctx, q) })
}

// ReleaseLease is sdk.Leaser's. After a crash released may be false for a lease
// that this call ended before it was sent again.
func (r *RemoteStore) ReleaseLease(ctx context.Context, q sdk.LeaseRequest) (released bool, err error) {
	return call(ctx, r, again, func(ctx context.Context, s Store) (bool, error) { return s.ReleaseLease(ctx, q) })
}

// WaitLease is sdk.LeaseWaiter's, and waits as long as ctx lets it. When the
// driver dies meanwhile it returns as soon as the next process serves the
// store: the lease may have become free, and nobody would tell.
func (r *RemoteStore) WaitLease(ctx context.Context, q sdk.LeaseRequest) error {
	b, err := r.acquire(ctx)
	if err != nil {
		return err
	}
	err = b.store.WaitLease(ctx, q)
	if err == nil || !r.repeatable(b, err) {
		return err
	}
	_, err = r.acquire(ctx)
	return err
}
