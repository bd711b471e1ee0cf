package host

import (
	"context"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// A Store is an opened store, wherever it runs: *sdk.Instance in this process,
// *RemoteStore in a driver process. Its methods are as package sdk describes
// them; what the store did not announce fails with errors.ErrUnsupported.
// Nobody above it knows which plane, if any, a call takes.
type Store interface {
	Traits() sdk.Traits
	Capabilities() sdk.Capabilities

	Get(ctx context.Context, key string) (value []byte, ok bool, err error)
	Set(ctx context.Context, key string, value []byte, ttl time.Duration) error
	Delete(ctx context.Context, key string) (existed bool, err error)

	Add(ctx context.Context, key string, value []byte, ttl time.Duration) (added bool, err error)
	Replace(ctx context.Context, key string, value []byte, ttl time.Duration) (replaced bool, err error)
	Pull(ctx context.Context, key string) (value []byte, ok bool, err error)
	Increment(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error)
	CompareDelete(ctx context.Context, key string, value []byte) (deleted bool, err error)

	GetMany(ctx context.Context, keys []string) ([]sdk.Lookup, error)
	SetMany(ctx context.Context, entries []sdk.Entry) error
	DeleteMany(ctx context.Context, keys []string) (existed int, err error)

	TTL(ctx context.Context, key string) (ttl time.Duration, ok bool, err error)
	Touch(ctx context.Context, key string, ttl time.Duration) (touched bool, err error)
	Keys(ctx context.Context, prefix string, cursor []byte, limit int) (keys []string, next []byte, err error)
	Clear(ctx context.Context, prefix string, cursor []byte) (next []byte, removed int, err error)

	AcquireLease(ctx context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error)
	RenewLease(ctx context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error)
	ReleaseLease(ctx context.Context, r sdk.LeaseRequest) (released bool, err error)
	WaitLease(ctx context.Context, r sdk.LeaseRequest) error

	Ping(ctx context.Context) error
	Stats(ctx context.Context) ([]sdk.Stat, error)

	// Close ends the store: running calls end first, within ctx.
	Close(ctx context.Context) error
}

var _ Store = (*sdk.Instance)(nil)
