package core

import (
	"context"
	"fmt"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// A CacheRepository is one named store as the application holds it: keys with
// the store's prefix, values in its codec. It is safe for concurrent use; its
// store opens, and the driver starts, with the first call.
//
// Beside ICacheRepository and Locker it has DeleteMany, TTL, Touch, Keys,
// Capabilities, Ping and Stats.
type CacheRepository struct {
	store *store
	codec Codec
}

// Name is the store's name in the configuration.
func (r *CacheRepository) Name() string { return r.store.name }

// WithCodec is the same store with values in another codec: core.Raw hands
// bytes through a store whose configuration says json.
func (r *CacheRepository) WithCodec(c Codec) *CacheRepository {
	return &CacheRepository{r.store, c}
}

// Get is ICacheRepository's.
func (r *CacheRepository) Get(ctx context.Context, key string) (Value, error) {
	c, err := r.store.begin(ctx, OpGet, key, 1)
	if err != nil {
		return Value{key: key}, r.store.forgive(ctx, OpGet, err)
	}
	data, ok, err := c.opened.Get(c.ctx, c.physical)
	return r.read(&c, data, ok, err)
}

// Pull is ICacheRepository's.
func (r *CacheRepository) Pull(ctx context.Context, key string) (Value, error) {
	c, err := r.store.begin(ctx, OpPull, key, 1)
	if err != nil {
		return Value{}, err
	}
	data, ok, err := c.opened.Pull(c.ctx, c.physical)
	return r.read(&c, data, ok, err)
}

// read ends a call that read one value.
func (r *CacheRepository) read(c *call, data []byte, ok bool, err error) (Value, error) {
	var due int64
	if err == nil {
		data, err = r.store.unseal(c.physical, data, ok)
	}
	if err == nil {
		data, due, ok, err = current(data, ok)
	}
	o := Outcome{Err: err}
	if err == nil && ok {
		o.Hits, o.Bytes = 1, len(data)
	}
	if err := c.end(o); err != nil {
		return Value{}, err
	}
	return r.value(c.Key, data, due, ok && err == nil), nil
}

func (r *CacheRepository) value(key string, data []byte, due int64, ok bool) Value {
	if !ok {
		return Value{key: key}
	}
	if data == nil {
		data = []byte{}
	}
	return Value{data: data, codec: r.codec, key: key, found: true, due: due}
}

// Has is ICacheRepository's. The value does not travel where the store can
// tell without.
func (r *CacheRepository) Has(ctx context.Context, key string) (bool, error) {
	c, err := r.store.begin(ctx, OpHas, key, 1)
	if err != nil {
		return false, r.store.forgive(ctx, OpHas, err)
	}
	var ok bool
	if c.opened.has(sdk.CanInspect) {
		_, ok, err = c.opened.TTL(c.ctx, c.physical)
	} else {
		_, ok, err = c.opened.Get(c.ctx, c.physical)
	}
	return ok && err == nil, c.end(Outcome{Hits: count(ok), Err: err})
}

// Set is ICacheRepository's.
func (r *CacheRepository) Set(ctx context.Context, key string, value any, ttl time.Duration) error {
	data, err := r.encode(OpSet, key, value)
	if err != nil {
		return err
	}
	return r.set(ctx, key, written{data: escaped(data), integer: isInteger(value)}, ttl)
}

func (r *CacheRepository) set(ctx context.Context, key string, value written, ttl time.Duration) error {
	w, err := r.beginWrite(ctx, OpSet, key, value, ttl)
	if err != nil {
		return err
	}
	err = w.opened.Set(w.ctx, w.physical, w.data, w.ttl)
	return w.end(Outcome{Bytes: len(value.data), Err: err})
}

// Add is ICacheRepository's.
func (r *CacheRepository) Add(ctx context.Context, key string, value any, ttl time.Duration) (bool, error) {
	data, err := r.encode(OpAdd, key, value)
	if err != nil {
		return false, err
	}
	w, err := r.beginWrite(ctx, OpAdd, key, written{data: escaped(data), integer: isInteger(value)}, ttl)
	if err != nil {
		return false, err
	}
	added, err := w.opened.Add(w.ctx, w.physical, w.data, w.ttl)
	return added, w.end(Outcome{Bytes: len(data), Err: err})
}

// Replace is ICacheRepository's.
func (r *CacheRepository) Replace(ctx context.Context, key string, value any, ttl time.Duration) (bool, error) {
	data, err := r.encode(OpReplace, key, value)
	if err != nil {
		return false, err
	}
	w, err := r.beginWrite(ctx, OpReplace, key, written{data: escaped(data), integer: isInteger(value)}, ttl)
	if err != nil {
		return false, err
	}
	replaced, err := w.opened.Replace(w.ctx, w.physical, w.data, w.ttl)
	return replaced, w.end(Outcome{Bytes: len(data), Err: err})
}

// A write is a call that carries a TTL and maybe a value, both as the driver
// gets them.
type write struct {
	call
	data []byte
	ttl  time.Duration
}

// noValue is the value of a write that carries none.
var noValue = written{integer: true}

// beginWrite checks the TTL before any I/O, begins the call, and seals the value.
func (r *CacheRepository) beginWrite(ctx context.Context, op Op, key string, value written, ttl time.Duration) (write, error) {
	ttl, err := r.store.lifetime(ttl)
	if err != nil {
		return write{}, r.fail(op, key, err)
	}
	c, err := r.store.begin(ctx, op, key, 1)
	if err != nil {
		return write{}, err
	}
	data, err := r.store.seal(c.physical, value)
	if err != nil {
		return write{}, c.end(Outcome{Err: err})
	}
	if limit := c.opened.Traits().MaxValue; limit > 0 && int64(len(data)) > limit {
		return write{}, c.end(Outcome{Err: fmt.Errorf("%w: it has %d bytes, and the store takes %d", ErrTooLarge, len(data), limit)})
	}
	if !value.settled {
		ttl = r.store.jittered(op, ttl)
	}
	return write{c, data, driverTTL(ttl, c.opened.granularity)}, nil
}

func (r *CacheRepository) encode(op Op, key string, value any) ([]byte, error) {
	data, err := encode(r.codec, value)
	if err != nil {
		return nil, r.fail(op, key, err)
	}
	return data, nil
}

func (r *CacheRepository) fail(op Op, key string, err error) error {
	return &Error{Op: string(op), Store: r.store.name, Driver: r.store.driver, Key: key, Err: err}
}

// Delete is ICacheRepository's.
func (r *CacheRepository) Delete(ctx context.Context, key string) (bool, error) {
	c, err := r.store.begin(ctx, OpDelete, key, 1)
	if err != nil {
		return false, err
	}
	existed, err := c.opened.Delete(c.ctx, c.physical)
	return existed, c.end(Outcome{Err: err})
}

// Increment is ICacheRepository's.
func (r *CacheRepository) Increment(ctx context.Context, key string, delta int64, opts ...CounterOption) (int64, error) {
	o := counterOptions{initialTTL: Forever}
	for _, opt := range opts {
		opt(&o)
	}
	w, err := r.beginWrite(ctx, OpIncrement, key, noValue, o.initialTTL)
	if err != nil {
		return 0, err
	}
	sum, err := w.opened.Increment(w.ctx, w.physical, delta, w.ttl)
	return sum, w.end(Outcome{Err: err})
}

// Decrement is ICacheRepository's.
func (r *CacheRepository) Decrement(ctx context.Context, key string, delta int64, opts ...CounterOption) (int64, error) {
	if delta == -delta && delta != 0 {
		return 0, r.fail(OpIncrement, key, fmt.Errorf("%w: %d has no opposite", ErrOverflow, delta))
	}
	return r.Increment(ctx, key, -delta, opts...)
}

// TTL returns how long key will live, Forever if it has no expiry. ok is false
// for an absent key.
func (r *CacheRepository) TTL(ctx context.Context, key string) (ttl time.Duration, ok bool, err error) {
	c, err := r.store.begin(ctx, OpTTL, key, 1)
	if err != nil {
		return 0, false, err
	}
	ttl, ok, err = c.opened.TTL(c.ctx, c.physical)
	if err := c.end(Outcome{Hits: count(ok), Err: err}); err != nil || !ok {
		return 0, false, err
	}
	return callerTTL(ttl), true, nil
}

// Touch gives a live entry a new expiry and reports whether there was one.
func (r *CacheRepository) Touch(ctx context.Context, key string, ttl time.Duration) (bool, error) {
	w, err := r.beginWrite(ctx, OpTouch, key, noValue, ttl)
	if err != nil {
		return false, err
	}
	touched, err := w.opened.Touch(w.ctx, w.physical, w.ttl)
	return touched, w.end(Outcome{Hits: count(touched), Err: err})
}

func count(ok bool) int {
	if ok {
		return 1
	}
	return 0
}
