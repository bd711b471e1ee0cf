package drivertest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// patience bounds waits that only a broken store makes long.
var patience = 30 * time.Second

// shortPatience is for what has been waited for in vain already: a store that
// ignores TTLs shall not cost patience again in every case that needs one.
const shortPatience = 250 * time.Millisecond

// slack is how much less than all may be left of a time that has just begun.
const slack = 30 * time.Second

// A check is a store as a case reads it: facts instead of return values. An
// operation that fails ends the case, so only the goroutine that runs the case
// uses these methods.
type check struct {
	Store
	t    T
	ctx  context.Context          // of the case, which the check does not outlive
	ttls map[string]time.Duration // what set gave each key, in whichever store
}

// on returns the checks of the store under test.
func on(ctx context.Context, t T) check {
	return check{t.Store(), t, ctx, make(map[string]time.Duration)}
}

// at is the same for another store.
func (c check) at(s Store) check { return check{s, c.t, c.ctx, c.ttls} }

// another opens the same data once more.
func (c check) another() check {
	s, err := c.t.Another(c.ctx)
	if err != nil {
		c.t.Fatalf("open the same data a second time: %v", err)
	}
	return c.at(s)
}

// reopen closes the store and opens its data again.
func (c check) reopen() check {
	s, err := c.t.Reopen(c.ctx)
	if err != nil {
		c.t.Fatalf("close and open again: %v", err)
	}
	return c.at(s)
}

// key makes a name the case's own.
func (c check) key(name string) string { return c.t.Unique() + ":" + name }

// keys makes n such keys.
func (c check) keys(n int, name string) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = c.key(fmt.Sprintf("%s%04d", name, i))
	}
	return keys
}

func (c check) set(key, value string, ttl time.Duration) {
	if err := c.Set(c.ctx, key, []byte(value), ttl); err != nil {
		c.t.Fatalf("Set(%s, %s, %v): %v", show(key), show(value), ttl, err)
	}
	c.ttls[key] = ttl
}

func (c check) get(key string) (value string, ok bool) {
	v, ok, err := c.Get(c.ctx, key)
	if err != nil {
		c.t.Fatalf("Get(%s): %v", show(key), err)
	}
	return string(v), ok
}

func (c check) delete(key string) bool {
	return c.did("Delete", key)(c.Delete(c.ctx, key))
}

func (c check) add(key, value string, ttl time.Duration) bool {
	return c.did("Add", key)(c.Add(c.ctx, key, []byte(value), ttl))
}

func (c check) replace(key, value string, ttl time.Duration) bool {
	return c.did("Replace", key)(c.Replace(c.ctx, key, []byte(value), ttl))
}

func (c check) compareDelete(key, value string) bool {
	return c.did("CompareDelete", key)(c.CompareDelete(c.ctx, key, []byte(value)))
}

func (c check) touch(key string, ttl time.Duration) bool {
	return c.did("Touch", key)(c.Touch(c.ctx, key, ttl))
}

func (c check) did(op, key string) func(bool, error) bool {
	return func(ok bool, err error) bool {
		if err != nil {
			c.t.Fatalf("%s(%s): %v", op, show(key), err)
		}
		return ok
	}
}

func (c check) increment(key string, delta int64, initialTTL time.Duration) int64 {
	sum, err := c.Increment(c.ctx, key, delta, initialTTL)
	if err != nil {
		c.t.Fatalf("Increment(%s, %d): %v", show(key), delta, err)
	}
	return sum
}

func (c check) ttl(key string) (ttl time.Duration, ok bool) {
	ttl, ok, err := c.TTL(c.ctx, key)
	if err != nil {
		c.t.Fatalf("TTL(%s): %v", show(key), err)
	}
	return ttl, ok
}

// holds fails unless key has value.
func (c check) holds(key, value string) {
	got, ok := c.get(key)
	switch {
	case !ok:
		c.t.Errorf("Get(%s) is a miss; want %s%s", show(key), show(value), c.stored(key))
	case got != value:
		c.t.Errorf("Get(%s) = %s; want %s", show(key), show(got), show(value))
	}
}

// stored reminds of what a TTL of 0 means, for a key that has one.
func (c check) stored(key string) string {
	if ttl, ok := c.ttls[key]; ok && ttl == sdk.NoExpiry {
		return ", which was stored with " + lasting(ttl)
	}
	return ""
}

// lasting is a TTL in words.
func lasting(ttl time.Duration) string {
	if ttl == sdk.NoExpiry {
		return "sdk.NoExpiry (0) and so never expires"
	}
	return fmt.Sprintf("a TTL of %v", ttl)
}

// misses fails unless key is absent.
func (c check) misses(key string) {
	if got, ok := c.get(key); ok {
		c.t.Errorf("Get(%s) = %s; want a miss", show(key), show(got))
	}
}

// says fails unless got is want; what names the operation.
func (c check) says(what string, got, want bool) {
	if got != want {
		c.t.Errorf("%s = %t; want %t", what, got, want)
	}
}

// has tells whether the store announced a capability.
func (c check) has(capability sdk.Capability) bool { return c.Capabilities().Has(capability) }

// soon is a TTL short enough to wait for.
func (c check) soon() time.Duration {
	step := c.Traits().Granularity
	return (60*time.Millisecond + step - 1) / step * step
}

// inTime lets try find something alive that lasts for ttl, and returns the ttl.
// Where the machine was too slow for that, it tries again with a longer one.
func (c check) inTime(what string, try func(ttl time.Duration) bool) time.Duration {
	for ttl := c.soon(); ; ttl *= 2 {
		start := time.Now()
		if try(ttl) {
			return ttl
		}
		if took := time.Since(start); took < ttl || ttl > patience {
			c.t.Fatalf("%s found nothing alive %v after it was stored for %v", what, took, ttl)
		}
	}
}

// expiry is what most waits are for.
const expiry = "the entry, which was stored with a TTL, is a miss once that has passed"

// gone waits until key is a miss.
func (c check) gone(key string) {
	c.eventually(expiry, func() bool {
		_, ok := c.get(key)
		return !ok
	})
}

// eventually asks until the answer is yes. It waits for a shorter time for what
// it has waited for in vain in an earlier case of the run.
func (c check) eventually(what string, yes func() bool) {
	most, again := patience, ""
	past, _ := c.t.(recaller)
	if past != nil && past.inVain(what) {
		most = min(most, shortPatience+8*c.Traits().Granularity)
		again = fmt.Sprintf("; an earlier case waited %v for that", patience)
	}
	for end := time.Now().Add(most); !yes(); time.Sleep(2 * time.Millisecond) {
		if time.Now().Before(end) {
			continue
		}
		if past != nil {
			past.waitedInVain(what)
		}
		c.t.Fatalf("waited %v and still not: %s%s", most, what, again)
	}
}

// A recaller is a T that knows what earlier cases of its run waited for in vain.
type recaller interface {
	inVain(what string) bool
	waitedInVain(what string)
}

// together runs n callers that start together, and waits for them.
func together(n int, call func(i int)) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-start
			call(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}

// show quotes a key or a value, and shortens it.
func show[V string | []byte](v V) string {
	const most = 60
	if len(v) <= most {
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprintf("%q… (%d bytes)", v[:most], len(v))
}
