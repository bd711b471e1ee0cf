package memcached

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// fenceLife is how long the last fence of a lock is kept after its last use.
const fenceLife = 24 * time.Hour

// A record is what is known of a lock, as the value of an item of its own:
//
//	 0  8  fence
//	 8  8  until when it is the owner's, in µs of Unix time; 0: nobody's
//	16     owner
//
// Memcached has no clock to judge it by, so the machine's is.
type record struct {
	fence uint64
	until int64
	owner string
}

func (r record) bytes() []byte {
	b := binary.LittleEndian.AppendUint64(nil, r.fence)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.until))
	return append(b, r.owner...)
}

// recordOf reads the record of an entry, an empty one where there is none.
func recordOf(e entry) (record, error) {
	if !e.live {
		return record{}, nil
	}
	r, ok := parseRecord(e.value)
	if !ok {
		return r, fmt.Errorf("%w: it is no record of a lock; %s", sdk.ErrCorrupt, repair(isLease, e.item.Key))
	}
	return r, nil
}

func parseRecord(b []byte) (r record, ok bool) {
	if len(b) < 16 {
		return record{}, false
	}
	r.fence = binary.LittleEndian.Uint64(b)
	r.until = int64(binary.LittleEndian.Uint64(b[8:]))
	r.owner = string(b[16:])
	return r, r.until >= 0 && r.fence < math.MaxUint64 // after which none is higher
}

// left is how long the lease will last yet, 0 if it has ended.
func (r record) left(now time.Time) time.Duration {
	left := r.until - now.UnixMicro()
	if left > math.MaxInt64/int64(time.Microsecond) {
		return math.MaxInt64
	}
	return time.Duration(max(left, 0)) * time.Microsecond
}

// lend makes the lock the owner's for the lease, rounded up.
func (r *record) lend(q sdk.LeaseRequest, now time.Time) {
	r.owner = q.Owner
	r.until = now.UnixMicro() + q.Lease.Microseconds() + 2
}

// edit writes the record. One with a fence outlasts its lease, or now.
func (r record) edit(q sdk.LeaseRequest, now time.Time) edit {
	lasts := time.UnixMicro(max(r.until, now.UnixMicro()))
	if q.Strategy == sdk.StrategyExclusive {
		lasts = lasts.Add(fenceLife)
	}
	return edit{change: true, value: r.bytes(), deadline: lasts.UnixMilli() + 1}
}

// lockOf is the subject of a lock. All that is done to one names its owner, so
// that it may be done again.
func lockOf(q sdk.LeaseRequest) subject {
	return subject{key: q.Key, name: leaseName(q), flags: isLease, repeat: again}
}

// AcquireLease implements sdk.Leaser.
func (s *store) AcquireLease(ctx context.Context, q sdk.LeaseRequest) (grant sdk.LeaseGrant, err error) {
	err = s.edit(ctx, lockOf(q), func(e entry, now time.Time, _ bool) (edit, error) {
		r, err := recordOf(e)
		if left := r.left(now); err != nil || left > 0 && r.owner != q.Owner {
			grant = sdk.LeaseGrant{Remaining: left}
			return leaveIt, err
		}
		if q.Strategy == sdk.StrategyExclusive {
			r.fence = max(r.fence+1, uint64(now.UnixMicro()))
		}
		r.lend(q, now)
		grant = sdk.LeaseGrant{OK: true, Fence: r.fence, Remaining: q.Lease}
		return r.edit(q, now), nil
	})
	return granted(grant, err)
}

// RenewLease implements sdk.LeaseRenewer. A renewal keeps the fence.
func (s *store) RenewLease(ctx context.Context, q sdk.LeaseRequest) (grant sdk.LeaseGrant, err error) {
	err = s.edit(ctx, lockOf(q), func(e entry, now time.Time, _ bool) (edit, error) {
		r, err := recordOf(e)
		left := r.left(now)
		switch {
		case err != nil || left == 0:
			grant = sdk.LeaseGrant{}
			return leaveIt, err
		case r.owner != q.Owner:
			grant = sdk.LeaseGrant{Remaining: left}
			return leaveIt, nil
		}
		r.lend(q, now)
		grant = sdk.LeaseGrant{OK: true, Fence: r.fence, Remaining: q.Lease}
		return r.edit(q, now), nil
	})
	return granted(grant, err)
}

// ReleaseLease implements sdk.Leaser. After a lost answer it reports a lease
// that is the owner's no more as released.
func (s *store) ReleaseLease(ctx context.Context, q sdk.LeaseRequest) (released bool, err error) {
	err = s.edit(ctx, lockOf(q), func(e entry, now time.Time, unsure bool) (edit, error) {
		r, err := recordOf(e)
		mine := err == nil && r.left(now) > 0 && r.owner == q.Owner
		released = mine || unsure
		switch {
		case !mine:
			return leaveIt, err
		case q.Strategy == sdk.StrategyExclusive:
			return record{fence: r.fence}.edit(q, now), nil
		}
		return removeIt, nil
	})
	return released && err == nil, err
}

// granted keeps a grant from those who don't know whether they have it.
func granted(grant sdk.LeaseGrant, err error) (sdk.LeaseGrant, error) {
	if err != nil {
		return sdk.LeaseGrant{}, err
	}
	return grant, nil
}
