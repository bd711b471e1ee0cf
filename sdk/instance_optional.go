package sdk

import (
	"context"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/cachewright/cachewright/internal/wire"
)

// Add is Adder's.
func (in *Instance) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (added bool, err error) {
	if in.adder == nil {
		return false, unsupported(CanAdd)
	}
	if err := in.begin(ctx); err != nil {
		return false, err
	}
	defer in.endWrite("add", &err)
	return in.adder.Add(ctx, key, value, ttl)
}

// Replace is Replacer's.
func (in *Instance) Replace(ctx context.Context, key string, value []byte, ttl time.Duration) (replaced bool, err error) {
	if in.replacer == nil {
		return false, unsupported(CanReplace)
	}
	if err := in.begin(ctx); err != nil {
		return false, err
	}
	defer in.endWrite("replace", &err)
	return in.replacer.Replace(ctx, key, value, ttl)
}

// Pull is Puller's.
func (in *Instance) Pull(ctx context.Context, key string) (value []byte, ok bool, err error) {
	if in.puller == nil {
		return nil, false, unsupported(CanPull)
	}
	if err := in.begin(ctx); err != nil {
		return nil, false, err
	}
	defer in.endWrite("pull", &err)
	return in.puller.Pull(ctx, key)
}

// Increment is Counter's.
func (in *Instance) Increment(ctx context.Context, key string, delta int64, initialTTL time.Duration) (sum int64, err error) {
	if in.counter == nil {
		return 0, unsupported(CanIncrement)
	}
	if err := in.begin(ctx); err != nil {
		return 0, err
	}
	defer in.endWrite("increment", &err)
	return in.counter.Increment(ctx, key, delta, initialTTL)
}

// CompareDelete is CompareDeleter's.
func (in *Instance) CompareDelete(ctx context.Context, key string, value []byte) (deleted bool, err error) {
	if in.comparer == nil {
		return false, unsupported(CanCompareDelete)
	}
	if err := in.begin(ctx); err != nil {
		return false, err
	}
	defer in.endWrite("compare-delete", &err)
	return in.comparer.CompareDelete(ctx, key, value)
}

// Clear is Clearer's.
func (in *Instance) Clear(ctx context.Context, prefix string, cursor []byte) (next []byte, removed int, err error) {
	if in.clearer == nil {
		return nil, 0, unsupported(CanClear)
	}
	if err := in.begin(ctx); err != nil {
		return nil, 0, err
	}
	defer in.endWrite("clear", &err)
	return in.clearer.Clear(ctx, prefix, cursor)
}

// TTL is Inspector's.
func (in *Instance) TTL(ctx context.Context, key string) (ttl time.Duration, ok bool, err error) {
	if in.inspector == nil {
		return 0, false, unsupported(CanInspect)
	}
	if err := in.begin(ctx); err != nil {
		return 0, false, err
	}
	defer in.end("ttl", &err)
	return in.inspector.TTL(ctx, key)
}

// Touch is Inspector's.
func (in *Instance) Touch(ctx context.Context, key string, ttl time.Duration) (touched bool, err error) {
	if in.inspector == nil {
		return false, unsupported(CanInspect)
	}
	if err := in.begin(ctx); err != nil {
		return false, err
	}
	defer in.endWrite("touch", &err)
	return in.inspector.Touch(ctx, key, ttl)
}

// Keys is Lister's. A limit that is not positive, or above 10,000, is 10,000.
// Keys that nobody can ask for, as another program may have stored them, are
// left out.
func (in *Instance) Keys(ctx context.Context, prefix string, cursor []byte, limit int) (keys []string, next []byte, err error) {
	if in.lister == nil {
		return nil, nil, unsupported(CanList)
	}
	if err := in.begin(ctx); err != nil {
		return nil, nil, err
	}
	defer in.end("keys", &err)
	if limit <= 0 || limit > wire.MaxBatchKeys {
		limit = wire.MaxBatchKeys
	}
	keys, next, err = in.lister.Keys(ctx, prefix, cursor, limit)
	return usable(keys), next, err
}

// usable returns the keys that a call can name.
func usable(keys []string) []string {
	unusable := func(key string) bool { return !utf8.ValidString(key) || checkKey(key) != nil }
	if !slices.ContainsFunc(keys, unusable) {
		return keys
	}
	return slices.DeleteFunc(slices.Clone(keys), unusable)
}

// AcquireLease is Leaser's.
func (in *Instance) AcquireLease(ctx context.Context, r LeaseRequest) (grant LeaseGrant, err error) {
	if in.leaser == nil {
		return LeaseGrant{}, unsupported(CanLease)
	}
	if err := in.begin(ctx); err != nil {
		return LeaseGrant{}, err
	}
	defer in.endWrite("acquire-lease", &err)
	return in.leaser.AcquireLease(ctx, r)
}

// RenewLease is LeaseRenewer's.
func (in *Instance) RenewLease(ctx context.Context, r LeaseRequest) (grant LeaseGrant, err error) {
	if in.renewer == nil {
		return LeaseGrant{}, unsupported(CanRenewLease)
	}
	if err := in.begin(ctx); err != nil {
		return LeaseGrant{}, err
	}
	defer in.endWrite("renew-lease", &err)
	return in.renewer.RenewLease(ctx, r)
}

// ReleaseLease is Leaser's.
func (in *Instance) ReleaseLease(ctx context.Context, r LeaseRequest) (released bool, err error) {
	if in.leaser == nil {
		return false, unsupported(CanLease)
	}
	if err := in.begin(ctx); err != nil {
		return false, err
	}
	defer in.endWrite("release-lease", &err)
	return in.leaser.ReleaseLease(ctx, r)
}

// WaitLease is LeaseWaiter's. It ends with ErrClosed when the store closes.
func (in *Instance) WaitLease(ctx context.Context, r LeaseRequest) (err error) {
	if in.waiter == nil {
		return unsupported(CanWaitLease)
	}
	if err := in.begin(ctx); err != nil {
		return err
	}
	defer in.end("wait-lease", &err)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(in.closing, func() { cancel(ErrClosed) })()
	err = in.waiter.WaitLease(ctx, r)
	if context.Cause(ctx) == ErrClosed {
		return ErrClosed
	}
	return err
}

// Ping is Pinger's; a store that is none answers at once.
func (in *Instance) Ping(ctx context.Context) (err error) {
	if err := in.begin(ctx); err != nil {
		return err
	}
	defer in.end("ping", &err)
	if in.pinger == nil {
		return nil
	}
	return in.pinger.Ping(ctx)
}

// Stats is StatsReporter's; a store that is none has no stats.
func (in *Instance) Stats(ctx context.Context) (stats []Stat, err error) {
	if err := in.begin(ctx); err != nil {
		return nil, err
	}
	defer in.end("stats", &err)
	if in.reporter == nil {
		return nil, nil
	}
	return in.reporter.Stats(ctx)
}
