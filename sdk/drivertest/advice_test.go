package drivertest

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// What the author of a driver is told about the mistakes that first drivers make.
func TestFailuresSayWhatToDo(t *testing.T) {
	patience = time.Second
	t.Cleanup(func() { patience = 30 * time.Second })
	for _, test := range []struct {
		mistake, rule, want string
		vary                func(*reference) sdk.Store
	}{
		{"a TTL of 0 ends at once", "values/round-trip", "stored with sdk.NoExpiry (0) and so never expires", retime(func(d time.Duration) time.Duration { return max(d, 1) })},
		{"a TTL of 0 ends at once", "ttl/none", "stored with sdk.NoExpiry (0) and so never expires", retime(func(d time.Duration) time.Duration { return max(d, 1) })},
		{"memory is taken for shared", "life/shared", "sdk.ClassVolatile", vary(func(f *faulty) { f.reference.disk = newDisk() })},
		{"memory is taken for shared", "life/shared", "sdk.ClassExclusive", vary(func(f *faulty) { f.reference.disk = newDisk() })},
		{"memory is taken for shared", "life/reopen", "sdk.ClassVolatile", vary(func(f *faulty) { f.reference.disk = newDisk() })},
		{"memory is taken for shared", "life/reopen-leases", "sdk.ScopeProcess", vary(func(f *faulty) { f.reference.disk = newDisk() })},
		{"the caller's slice is kept", "values/caller-keeps-slice", "the caller's again", keepSlices},
		{"TTLs are ignored", "ttl/expires", "was stored with a TTL", retime(func(time.Duration) time.Duration { return 0 })},
	} {
		said := strings.Join(verdict(t, test.rule, referenceDriver(test.vary)), "\n")
		if !strings.Contains(said, test.want) {
			t.Errorf("%s: %s says\n%s\nwant %q in it", test.mistake, test.rule, said, test.want)
		}
	}
}

// keepSlices stores what it is given instead of a copy.
func keepSlices(r *reference) sdk.Store {
	return vary(func(f *faulty) {
		f.set = func(_ context.Context, key string, value []byte, ttl time.Duration) error {
			defer f.locked()()
			f.items[key] = item{value, deadline(ttl)}
			return nil
		}
	})(r)
}

// Only the first case waits long for what a store never does.
func TestWaitsInVainAreShortAfterTheFirst(t *testing.T) {
	d := referenceDriver(retime(func(time.Duration) time.Duration { return 0 }))
	synctest.Test(t, func(t *testing.T) {
		past := new(past)
		start, failed := time.Now(), 0
		for _, c := range Cases() {
			if !strings.HasPrefix(c.Name, "ttl/") {
				continue
			}
			if r := record(t, c, d, map[string]any{"disk": t.Name() + c.Name}, past); len(r.said) > 0 {
				failed++
			}
		}
		if failed < 5 {
			t.Errorf("only %d cases notice that TTLs are ignored", failed)
		}
		if took := time.Since(start); took > 2*patience {
			t.Errorf("%d cases waited %v for entries that never expire; want little more than %v", failed, took, patience)
		}
	})
}
