package drivertest

import (
	"context"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

var leaseFaults = []fault{
	{"a taken lock is granted", []string{"lease/acquire", "lease/race"}, vary(func(f *faulty) {
		f.acquire = func(_ context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
			defer f.locked()()
			return f.grant(q, 1), nil
		}
	})},
	{"an attempt looks before it takes", []string{"lease/race", "lease/race-expired", "lease/race-between-processes"}, vary(func(f *faulty) {
		f.acquire = func(_ context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
			unlock := f.locked()
			h := f.leases[[2]string{q.Strategy, q.Key}]
			unlock()
			if time.Until(h.until) > 0 && h.owner != q.Owner {
				return sdk.LeaseGrant{Remaining: time.Until(h.until)}, nil
			}
			pause()
			defer f.locked()()
			return f.grant(q, h.fence+1), nil
		}
	})},
	{"an owner is refused its own lock", []string{"lease/acquire"}, vary(func(f *faulty) {
		f.acquire = func(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
			unlock := f.locked()
			h := f.leases[[2]string{q.Strategy, q.Key}]
			unlock()
			if left := time.Until(h.until); left > 0 {
				return sdk.LeaseGrant{Remaining: left}, nil
			}
			return f.reference.AcquireLease(ctx, q)
		}
	})},
	{"leases never end", []string{"lease/expired"}, relet(func(time.Duration) time.Duration { return time.Hour })},
	{"leases end early", []string{"lease/expired"}, relet(func(d time.Duration) time.Duration { return d / 2 })},
	{"leases wrap at 32 bits", []string{"lease/far"}, relet(func(d time.Duration) time.Duration {
		return time.Duration(int32(d.Milliseconds())) * time.Millisecond
	})},
	{"anybody may release", []string{"lease/release"}, vary(func(f *faulty) {
		f.release = func(ctx context.Context, q sdk.LeaseRequest) (bool, error) {
			unlock := f.locked()
			q.Owner = f.leases[[2]string{q.Strategy, q.Key}].owner
			unlock()
			return f.reference.ReleaseLease(ctx, q)
		}
	})},
	{"Release always says yes", []string{"lease/release"}, vary(func(f *faulty) {
		f.release = func(ctx context.Context, q sdk.LeaseRequest) (bool, error) {
			f.reference.ReleaseLease(ctx, q)
			return true, nil
		}
	})},
	{"a late release takes the next owner's lease", []string{"lease/expired"}, vary(func(f *faulty) {
		f.release = func(ctx context.Context, q sdk.LeaseRequest) (bool, error) {
			if q.Owner == "late" {
				defer f.locked()()
				delete(f.leases, [2]string{q.Strategy, q.Key})
				return false, nil
			}
			return f.reference.ReleaseLease(ctx, q)
		}
	})},
	{"Renew takes a lost lock back", []string{"lease/renew"}, vary(func(f *faulty) { f.renew = f.acquire })},
	{"Renew says yes and does nothing", []string{"lease/renew"}, vary(func(f *faulty) {
		f.renew = func(_ context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
			defer f.locked()()
			h := f.leases[[2]string{q.Strategy, q.Key}]
			ok := h.owner == q.Owner && time.Until(h.until) > 0
			return sdk.LeaseGrant{OK: ok, Fence: h.fence, Remaining: q.Lease}, nil
		}
	})},
	{"the fence starts again", []string{"lease/fence", "lease/fence-between-processes"}, vary(func(f *faulty) {
		f.acquire = func(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
			g, err := f.reference.AcquireLease(ctx, q)
			g.Fence = min(g.Fence, 7)
			return g, err
		}
	})},
	{"a renewal changes the fence", []string{"lease/fence"}, vary(func(f *faulty) {
		f.renew = func(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
			g, err := f.reference.RenewLease(ctx, q)
			g.Fence++
			return g, err
		}
	})},
	{"remaining is in milliseconds", []string{"lease/remaining"}, vary(func(f *faulty) {
		f.acquire = func(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
			g, err := f.reference.AcquireLease(ctx, q)
			g.Remaining /= time.Millisecond
			return g, err
		}
	})},
	{"strategies share their locks", []string{"lease/name-spaces"}, vary(func(f *faulty) {
		f.acquire = func(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
			q.Strategy = sdk.StrategyLease
			return f.reference.AcquireLease(ctx, q)
		}
	})},
	{"a lock is an entry", []string{"lease/name-spaces"}, vary(func(f *faulty) {
		f.acquire = func(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
			f.reference.Set(ctx, q.Key, []byte(q.Owner), q.Lease)
			return f.reference.AcquireLease(ctx, q)
		}
	})},
	{"a lock is an entry with a suffix", []string{"lease/name-spaces"}, vary(func(f *faulty) {
		f.acquire = func(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
			f.reference.Set(ctx, q.Key+"-lock", []byte(q.Owner), q.Lease)
			return f.reference.AcquireLease(ctx, q)
		}
	})},
	{"a wait sleeps until its context ends", []string{"wait/free", "wait/release", "wait/release-between-processes", "wait/expiry"}, vary(func(f *faulty) {
		f.wait = func(ctx context.Context, _ sdk.LeaseRequest) error {
			<-ctx.Done()
			return ctx.Err()
		}
	})},
	{"a wait ignores releases", []string{"wait/release"}, vary(func(f *faulty) {
		f.wait = func(ctx context.Context, q sdk.LeaseRequest) error {
			unlock := f.locked()
			h := f.leases[[2]string{q.Strategy, q.Key}]
			unlock()
			return sleep(ctx, time.Until(h.until))
		}
	})},
	{"a wait ignores its context", []string{"wait/cancel"}, vary(func(f *faulty) {
		f.wait = func(ctx context.Context, q sdk.LeaseRequest) error {
			f.reference.WaitLease(context.WithoutCancel(ctx), q)
			return nil
		}
	})},
	{"a wait that is cancelled is no error", []string{"wait/cancel"}, vary(func(f *faulty) {
		f.wait = func(ctx context.Context, q sdk.LeaseRequest) error {
			f.reference.WaitLease(ctx, q)
			return nil
		}
	})},
}

// relet gives leases another length.
func relet(length func(time.Duration) time.Duration) func(*reference) sdk.Store {
	return vary(func(f *faulty) {
		f.acquire = func(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
			q.Lease = length(q.Lease)
			return f.reference.AcquireLease(ctx, q)
		}
	})
}
