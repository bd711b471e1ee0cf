package file

import (
	"bytes"
	"context"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// Add is sdk.Adder's.
func (s *store) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (added bool, err error) {
	err = s.change(ctx, key, creating, func(l lockedFolder, name string) error {
		_, ok, err := live(l.headOf(name, key))
		if err != nil || ok {
			return err
		}
		err = l.put(ctx, name, key, deadlineAfter(ttl), value)
		added = err == nil
		return err
	})
	return added, err
}

// Replace is sdk.Replacer's.
func (s *store) Replace(ctx context.Context, key string, value []byte, ttl time.Duration) (replaced bool, err error) {
	err = s.change(ctx, key, existing, func(l lockedFolder, name string) error {
		_, ok, err := live(l.headOf(name, key))
		if err != nil || !ok {
			return err
		}
		err = l.put(ctx, name, key, deadlineAfter(ttl), value)
		replaced = err == nil
		return err
	})
	return replaced, err
}

// Pull is sdk.Puller's.
func (s *store) Pull(ctx context.Context, key string) (value []byte, ok bool, err error) {
	err = s.change(ctx, key, existing, func(l lockedFolder, name string) error {
		it, there, err := live(l.read(name, key))
		if err != nil || !there {
			return err
		}
		if err := l.remove(name); err != nil {
			return err
		}
		value, ok = it.value, true
		return nil
	})
	return value, ok, err
}

// Increment is sdk.Counter's.
func (s *store) Increment(ctx context.Context, key string, delta int64, initialTTL time.Duration) (sum int64, err error) {
	err = s.change(ctx, key, creating, func(l lockedFolder, name string) error {
		it, ok, err := live(l.read(name, key))
		if err != nil {
			return err
		}
		if !ok {
			it = item{value: sdk.FormatInteger(0), deadline: deadlineAfter(initialTTL)}
		}
		if sum, err = sdk.AddInteger(it.value, delta); err != nil {
			return err
		}
		return l.put(ctx, name, key, it.deadline, sdk.FormatInteger(sum))
	})
	if err != nil {
		return 0, err
	}
	return sum, nil
}

// CompareDelete is sdk.CompareDeleter's.
func (s *store) CompareDelete(ctx context.Context, key string, value []byte) (deleted bool, err error) {
	err = s.change(ctx, key, existing, func(l lockedFolder, name string) error {
		it, ok, err := live(l.read(name, key))
		if err != nil || !ok || !bytes.Equal(it.value, value) {
			return err
		}
		err = l.remove(name)
		deleted = err == nil
		return err
	})
	return deleted, err
}

// TTL is sdk.Inspector's.
func (s *store) TTL(_ context.Context, key string) (time.Duration, bool, error) {
	n, name := place(key)
	f, err := s.entries.open(n)
	if err != nil {
		_, _, err = live(item{}, err)
		return 0, false, explain(s.entries.folderPath(n), err)
	}
	defer f.close()
	it, ok, err := live(f.headOf(name, key))
	if err != nil || !ok {
		return 0, false, explain(s.entries.filePath(n, name), err)
	}
	ttl, ok := it.remaining(time.Now())
	return ttl, ok, nil
}

// Touch is sdk.Inspector's. It writes the entry anew: a deadline that was
// changed in place could be read, or survive a crash, half changed.
func (s *store) Touch(ctx context.Context, key string, ttl time.Duration) (touched bool, err error) {
	err = s.change(ctx, key, existing, func(l lockedFolder, name string) error {
		it, ok, err := live(l.read(name, key))
		if err != nil || !ok {
			return err
		}
		err = l.put(ctx, name, key, deadlineAfter(ttl), it.value)
		touched = err == nil
		return err
	})
	return touched, err
}
