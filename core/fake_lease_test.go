package core_test

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// A row is a lease as the fake keeps it.
type row struct {
	owner   string
	expires time.Time
	fence   uint64
}

func rowKey(r sdk.LeaseRequest) string { return r.Strategy + " " + r.Key }

// row returns the live lease of a strategy's key.
func (f *fake) row(strategy, key string) (row, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.liveRow(strategy + " " + key)
}

func (f *fake) liveRow(key string) (row, bool) {
	r, ok := f.rows[key]
	return r, ok && time.Now().Before(r.expires)
}

// steal gives the lease to somebody else.
func (f *fake) steal(strategy, key string, d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old := f.rows[strategy+" "+key]
	f.rows[strategy+" "+key] = row{"thief", time.Now().Add(d), old.fence + 1}
}

func (s *fakeStore) AcquireLease(_ context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	if err := s.call("acquire", fmt.Sprint(rowKey(r), " ", r.Lease)); err != nil {
		return sdk.LeaseGrant{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owners = append(s.owners, r.Owner)
	held, live := s.liveRow(rowKey(r))
	if live && held.owner != r.Owner {
		return sdk.LeaseGrant{Remaining: time.Until(held.expires)}, nil
	}
	taken := row{r.Owner, time.Now().Add(r.Lease), s.rows[rowKey(r)].fence + 1}
	s.rows[rowKey(r)] = taken
	return sdk.LeaseGrant{OK: true, Fence: taken.fence, Remaining: r.Lease}, nil
}

func (s *fakeStore) RenewLease(_ context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	if err := s.call("renew", rowKey(r)); err != nil {
		return sdk.LeaseGrant{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	held, live := s.liveRow(rowKey(r))
	if !live || held.owner != r.Owner {
		return sdk.LeaseGrant{}, nil
	}
	held.expires = time.Now().Add(r.Lease)
	s.rows[rowKey(r)] = held
	return sdk.LeaseGrant{OK: true, Fence: held.fence, Remaining: r.Lease}, nil
}

func (s *fakeStore) ReleaseLease(_ context.Context, r sdk.LeaseRequest) (bool, error) {
	if err := s.call("release", rowKey(r)); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	held, live := s.liveRow(rowKey(r))
	if !live || held.owner != r.Owner {
		return false, nil
	}
	held.expires = time.Time{}
	s.rows[rowKey(r)] = held
	close(s.woken)
	s.woken = make(chan struct{})
	return true, nil
}

func (s *fakeStore) WaitLease(ctx context.Context, r sdk.LeaseRequest) error {
	if err := s.call("wait", rowKey(r)); err != nil {
		return err
	}
	s.mu.Lock()
	woken := s.woken
	_, live := s.liveRow(rowKey(r))
	s.mu.Unlock()
	if !live {
		return nil
	}
	select {
	case <-woken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *fakeStore) CompareDelete(_ context.Context, key string, value []byte) (bool, error) {
	if err := s.call("compare-delete", key); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.live(key)
	if !ok || !bytes.Equal(e.value, value) {
		return false, nil
	}
	delete(s.entries, key)
	return true, nil
}
