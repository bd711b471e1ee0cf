package sdk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cachewright/cachewright/internal/fastplane"
	"github.com/cachewright/cachewright/internal/wire"
)

// do makes one call of the data path, whichever plane brought it. What a host
// must not send is refused here.
func (s *server) do(ctx context.Context, r *fastplane.Request) (a fastplane.Answer, err error) {
	in, err := s.stores.find(r.Store)
	if err != nil {
		return a, err
	}
	switch r.Op {
	case fastplane.OpGetMany, fastplane.OpSetMany, fastplane.OpDeleteMany:
		return doMany(ctx, in, r)
	}
	if err := checkCall(r); err != nil {
		return a, err
	}
	switch r.Op {
	case fastplane.OpAcquireLease, fastplane.OpRenewLease, fastplane.OpReleaseLease:
		return doLease(ctx, in, r)
	}
	return doOne(ctx, in, r)
}

// checkCall checks what a call on one key brings.
func checkCall(r *fastplane.Request) error {
	switch {
	case r.TTL < 0:
		return fmt.Errorf("%w: it is negative", wire.ErrInvalidTTL)
	case r.TTL == 0 && (r.Op == fastplane.OpAcquireLease || r.Op == fastplane.OpRenewLease):
		return fmt.Errorf("%w: the lease must be positive", wire.ErrInvalidTTL)
	}
	return checkKey(r.Key)
}

func doOne(ctx context.Context, in *Instance, r *fastplane.Request) (a fastplane.Answer, err error) {
	var yes bool
	switch r.Op {
	case fastplane.OpGet:
		a.Value, yes, err = in.Get(ctx, r.Key)
		err = joined(err, checkSize(a.Value))
	case fastplane.OpSet:
		yes, err = true, in.Set(ctx, r.Key, r.Value, r.TTL)
	case fastplane.OpDelete:
		yes, err = in.Delete(ctx, r.Key)
	case fastplane.OpAdd:
		yes, err = in.Add(ctx, r.Key, r.Value, r.TTL)
	case fastplane.OpReplace:
		yes, err = in.Replace(ctx, r.Key, r.Value, r.TTL)
	case fastplane.OpPull:
		a.Value, yes, err = in.Pull(ctx, r.Key)
		if tooLarge := checkSize(a.Value); err == nil && tooLarge != nil {
			err = fmt.Errorf("%w: the entry was removed: %w", ErrMaybeApplied, tooLarge)
		}
	case fastplane.OpIncrement:
		yes = true
		a.Number, err = in.Increment(ctx, r.Key, r.Delta, r.TTL)
	case fastplane.OpCompareDelete:
		yes, err = in.CompareDelete(ctx, r.Key, r.Value)
	case fastplane.OpTTL:
		a.TTL, yes, err = in.TTL(ctx, r.Key)
	case fastplane.OpTouch:
		yes, err = in.Touch(ctx, r.Key, r.TTL)
	default:
		err = fmt.Errorf("operation %d: %w", r.Op, errors.ErrUnsupported)
	}
	if err != nil {
		return fastplane.Answer{}, err
	}
	a.Say(yes)
	return a, nil
}

func doLease(ctx context.Context, in *Instance, r *fastplane.Request) (a fastplane.Answer, err error) {
	q := leaseRequest(r)
	var g LeaseGrant
	switch r.Op {
	case fastplane.OpAcquireLease:
		g, err = in.AcquireLease(ctx, q)
	case fastplane.OpRenewLease:
		g, err = in.RenewLease(ctx, q)
	default:
		g.OK, err = in.ReleaseLease(ctx, q)
	}
	a.Say(g.OK)
	a.Fence, a.TTL = g.Fence, g.Remaining
	return a, err
}

func leaseRequest(r *fastplane.Request) LeaseRequest {
	q := LeaseRequest{Strategy: r.Lease.Strategy, Key: r.Key, Owner: r.Lease.Owner, Lease: r.TTL, Clock: BackendClock}
	if r.Lease.DriverClock {
		q.Clock = DriverClock
	}
	return q
}

func joined(err, other error) error {
	if other == nil {
		return err
	}
	return errors.Join(err, other)
}

func checkKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: it is empty", ErrInvalidKey)
	case len(key) > wire.MaxKey+wire.MaxSuffix:
		return fmt.Errorf("%w: it has %d bytes, and %d are the most", ErrInvalidKey, len(key), wire.MaxKey)
	case strings.IndexByte(key, 0) >= 0:
		return fmt.Errorf("%w: it holds a NUL", ErrInvalidKey)
	}
	return nil
}

// checkSize refuses a value that no message can carry; other programs may have
// stored one.
func checkSize(value []byte) error {
	if len(value) > wire.MaxValue {
		return fmt.Errorf("%w: the stored value has %d bytes, and a message carries at most %d", ErrTooLarge, len(value), wire.MaxValue)
	}
	return nil
}
