package drivertest

import (
	"bytes"
	"context"
	"errors"
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// A fault is a way in which a driver could be wrong, and the cases that must
// notice.
type fault struct {
	name     string
	caughtBy []string
	vary     func(*reference) sdk.Store
}

// faulty is a reference of which some methods are replaced.
type faulty struct {
	*reference
	get           func(ctx context.Context, key string) ([]byte, bool, error)
	set           func(ctx context.Context, key string, value []byte, ttl time.Duration) error
	del           func(ctx context.Context, key string) (bool, error)
	add           func(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error)
	replace       func(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error)
	pull          func(ctx context.Context, key string) ([]byte, bool, error)
	compareDelete func(ctx context.Context, key string, value []byte) (bool, error)
	increment     func(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error)
	getMany       func(ctx context.Context, keys []string) ([]sdk.Lookup, error)
	setMany       func(ctx context.Context, entries []sdk.Entry) error
	deleteMany    func(ctx context.Context, keys []string) (int, error)
	ttl           func(ctx context.Context, key string) (time.Duration, bool, error)
	touch         func(ctx context.Context, key string, ttl time.Duration) (bool, error)
	keys          func(ctx context.Context, prefix string, cursor []byte, limit int) ([]string, []byte, error)
	clear         func(ctx context.Context, prefix string, cursor []byte) ([]byte, int, error)
	acquire       func(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error)
	renew         func(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error)
	release       func(ctx context.Context, q sdk.LeaseRequest) (bool, error)
	wait          func(ctx context.Context, q sdk.LeaseRequest) error
	stats         func(ctx context.Context) ([]sdk.Stat, error)
}

// vary replaces methods of a whole reference.
func vary(change func(f *faulty)) func(*reference) sdk.Store {
	return func(r *reference) sdk.Store {
		f := &faulty{
			r, r.Get, r.Set, r.Delete, r.Add, r.Replace, r.Pull, r.CompareDelete, r.Increment, r.GetMany, r.SetMany, r.DeleteMany,
			r.TTL, r.Touch, r.Keys, r.Clear, r.AcquireLease, r.RenewLease, r.ReleaseLease, r.WaitLease, r.Stats,
		}
		change(f)
		return f
	}
}

// rekey makes every method see another key.
func rekey(key func(string) string) func(*reference) sdk.Store {
	return vary(func(f *faulty) {
		r := f.reference
		f.get = func(ctx context.Context, k string) ([]byte, bool, error) { return r.Get(ctx, key(k)) }
		f.set = func(ctx context.Context, k string, v []byte, ttl time.Duration) error {
			return r.Set(ctx, key(k), v, ttl)
		}
		f.del = func(ctx context.Context, k string) (bool, error) { return r.Delete(ctx, key(k)) }
		f.getMany = func(ctx context.Context, keys []string) ([]sdk.Lookup, error) {
			var changed []string
			for _, k := range keys {
				changed = append(changed, key(k))
			}
			return r.GetMany(ctx, changed)
		}
		f.acquire = func(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
			q.Key = key(q.Key)
			return r.AcquireLease(ctx, q)
		}
		f.release = func(ctx context.Context, q sdk.LeaseRequest) (bool, error) {
			q.Key = key(q.Key)
			return r.ReleaseLease(ctx, q)
		}
	})
}

// retime makes every write see another TTL.
func retime(ttl func(time.Duration) time.Duration) func(*reference) sdk.Store {
	return vary(func(f *faulty) {
		r := f.reference
		f.set = func(ctx context.Context, k string, v []byte, d time.Duration) error { return r.Set(ctx, k, v, ttl(d)) }
		f.add = func(ctx context.Context, k string, v []byte, d time.Duration) (bool, error) {
			return r.Add(ctx, k, v, ttl(d))
		}
	})
}

// revalue makes Set store something else.
func revalue(value func([]byte) []byte) func(*reference) sdk.Store {
	return vary(func(f *faulty) {
		r := f.reference
		f.set = func(ctx context.Context, k string, v []byte, ttl time.Duration) error {
			return r.Set(ctx, k, value(v), ttl)
		}
	})
}

func traits(change func(*sdk.Traits)) func(*reference) sdk.Store {
	return func(r *reference) sdk.Store {
		change(&r.traits)
		return r
	}
}

// pause lets others run between two steps that should have been one.
func pause() {
	for range 3 {
		runtime.Gosched()
	}
	time.Sleep(50 * time.Microsecond)
}

var faults = []fault{
	// values
	{"an empty value is no value", []string{"values/empty"}, vary(func(f *faulty) {
		f.get = func(ctx context.Context, key string) ([]byte, bool, error) {
			value, ok, err := f.reference.Get(ctx, key)
			return value, ok && len(value) > 0, err
		}
	})},
	{"null is no value", []string{"values/look-alikes"}, vary(func(f *faulty) {
		f.get = func(ctx context.Context, key string) ([]byte, bool, error) {
			value, ok, err := f.reference.Get(ctx, key)
			return value, ok && string(value) != "null", err
		}
	})},
	{"a value ends at NUL", []string{"values/binary"}, revalue(func(v []byte) []byte { v, _, _ = bytes.Cut(v, []byte{0}); return v })},
	{"values are text", []string{"values/binary"}, revalue(func(v []byte) []byte { return bytes.ToValidUTF8(v, []byte("?")) })},
	{"values are trimmed", []string{"values/binary", "values/look-alikes"}, revalue(bytes.TrimSpace)},
	{"large values are cut", []string{"values/large", "batch/large"}, vary(func(f *faulty) {
		f.set = func(ctx context.Context, key string, v []byte, ttl time.Duration) error {
			return f.reference.Set(ctx, key, v[:min(len(v), 1<<20)], ttl)
		}
		f.setMany = func(ctx context.Context, entries []sdk.Entry) error {
			return f.reference.SetMany(ctx, entries[:min(len(entries), 20)])
		}
	})},
	{"a value that is too large is lost", []string{"values/too-large", "batch/one-too-large"}, vary(func(f *faulty) {
		quiet := func(err error) error {
			if errors.Is(err, sdk.ErrTooLarge) {
				return nil
			}
			return err
		}
		f.set = func(ctx context.Context, key string, v []byte, ttl time.Duration) error {
			return quiet(f.reference.Set(ctx, key, v, ttl))
		}
		f.setMany = func(ctx context.Context, entries []sdk.Entry) error { return quiet(f.reference.SetMany(ctx, entries)) }
	})},
	{"a batch with a bad entry names none", []string{"batch/one-too-large"}, vary(func(f *faulty) {
		f.setMany = func(ctx context.Context, entries []sdk.Entry) error {
			if f.reference.SetMany(ctx, entries) != nil {
				return sdk.ErrTooLarge
			}
			return nil
		}
	})},
	{"the caller's slice is kept", []string{"values/caller-keeps-slice"}, vary(func(f *faulty) {
		f.set = func(_ context.Context, key string, v []byte, ttl time.Duration) error {
			defer f.locked()()
			f.items[key] = item{v, deadline(ttl)}
			return nil
		}
	})},
	{"values are overwritten in place", []string{"values/result-stays"}, vary(func(f *faulty) {
		f.set = func(ctx context.Context, key string, v []byte, ttl time.Duration) error {
			defer f.locked()()
			if i, ok := f.find(key); ok && len(i.value) == len(v) {
				copy(i.value, v)
				return nil
			}
			return f.put(key, v, ttl)
		}
	})},
	{"a value is stored in two steps", []string{"atomic/one-key"}, vary(func(f *faulty) {
		f.set = func(ctx context.Context, key string, v []byte, ttl time.Duration) error {
			old, _, _ := f.reference.Get(ctx, key)
			half := len(v) / 2
			f.reference.Set(ctx, key, append(bytes.Clone(v[:half]), old[min(half, len(old)):]...), ttl)
			pause()
			return f.reference.Set(ctx, key, v, ttl)
		}
	})},
	{"Delete always says yes", []string{"values/miss", "values/delete"}, vary(func(f *faulty) {
		f.del = func(ctx context.Context, key string) (bool, error) {
			f.reference.Delete(ctx, key)
			return true, nil
		}
	})},

	// keys
	{"keys have no case", []string{"keys/case-and-form", "lease/keys"}, rekey(strings.ToLower)},
	{"keys are trimmed", []string{"keys/hostile", "keys/case-and-form"}, rekey(strings.TrimSpace)},
	{"keys are paths", []string{"keys/hostile", "keys/nested"}, rekey(path.Clean)},
	{"keys are 250 bytes", []string{"keys/long", "lease/keys"}, rekey(func(k string) string { return k[:min(len(k), 250)] })},
	{"keys are 1,024 bytes", []string{"keys/longest-lock"}, rekey(func(k string) string { return k[:min(len(k), 1024)] })},
	{"the limit counts the key", []string{"values/large"}, vary(func(f *faulty) {
		f.set = func(ctx context.Context, key string, v []byte, ttl time.Duration) error {
			if len(key)+len(v) > 5<<20+100 {
				return sdk.ErrTooLarge
			}
			return f.reference.Set(ctx, key, v, ttl)
		}
	})},
	{"colons are replaced", []string{"keys/long"}, rekey(func(k string) string { return strings.ReplaceAll(k, ":", ";") })},
	{"control characters are dropped", []string{"keys/hostile"}, rekey(func(k string) string {
		return strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return -1
			}
			return r
		}, k)
	})},
	{"numbers are numbers", []string{"keys/numeric"}, rekey(func(k string) string {
		head, tail, _ := strings.Cut(k, ":")
		if n, err := strconv.ParseFloat(tail, 64); err == nil {
			return head + ":" + strconv.FormatFloat(n, 'g', -1, 64)
		}
		return k
	})},
	{"keys in four bytes are question marks", []string{"keys/hostile", "keys/case-and-form"}, rekey(func(k string) string {
		return strings.Map(func(r rune) rune {
			if r > 0xffff {
				return '?'
			}
			return r
		}, k)
	})},

	// TTL
	{"reading an expired entry deletes the key", []string{"ttl/stale-read"}, vary(func(f *faulty) {
		f.get = func(ctx context.Context, key string) ([]byte, bool, error) {
			unlock := f.locked()
			i, ok := f.items[key]
			unlock()
			if ok && !i.live() {
				pause()
				f.reference.Delete(ctx, key)
			}
			return i.value, ok && i.live(), nil
		}
	})},
	{"expired entries are there until swept", []string{"ttl/expires", "ttl/expired-is-absent"}, vary(func(f *faulty) {
		f.get = func(_ context.Context, key string) ([]byte, bool, error) {
			defer f.locked()()
			i, ok := f.items[key]
			return i.value, ok, nil
		}
	})},
	{"TTLs are whole seconds, rounded down", []string{"ttl/one-step", "ttl/expires"}, retime(func(d time.Duration) time.Duration { return d.Truncate(time.Second) })},
	{"TTLs are rounded down a little", []string{"ttl/expires", "ttl/few-steps"}, retime(func(d time.Duration) time.Duration { return d * 9 / 10 })},
	{"TTLs wrap at 32 bits", []string{"ttl/far"}, retime(func(d time.Duration) time.Duration { return time.Duration(int32(d.Milliseconds())) * time.Millisecond })},
	{"TTLs above 30 days are dates", []string{"ttl/far"}, retime(func(d time.Duration) time.Duration {
		if d > 30*24*time.Hour {
			return 1
		}
		return d
	})},
	{"the old expiry stays", []string{"ttl/overwrite"}, vary(func(f *faulty) {
		f.set = func(_ context.Context, key string, v []byte, ttl time.Duration) error {
			defer f.locked()()
			old, ok := f.find(key)
			f.put(key, v, ttl)
			if ok {
				f.items[key] = item{f.items[key].value, old.deadline}
			}
			return nil
		}
	})},
	{"everything expires", []string{"ttl/none"}, retime(func(d time.Duration) time.Duration {
		if d == 0 {
			return time.Hour
		}
		return d
	})},
	{"Delete counts expired entries", []string{"ttl/expired-is-absent"}, vary(func(f *faulty) {
		f.del = func(_ context.Context, key string) (bool, error) {
			defer f.locked()()
			_, ok := f.items[key]
			delete(f.items, key)
			return ok, nil
		}
	})},
	{"TTL says 0 before the end", []string{"ttl/inspect"}, vary(func(f *faulty) {
		f.ttl = func(ctx context.Context, key string) (time.Duration, bool, error) {
			left, ok, err := f.reference.TTL(ctx, key)
			return left.Truncate(time.Second), ok, err
		}
	})},
	{"Touch creates", []string{"ttl/touch"}, vary(func(f *faulty) {
		f.touch = func(ctx context.Context, key string, ttl time.Duration) (bool, error) {
			value, ok, _ := f.reference.Get(ctx, key)
			return ok, f.reference.Set(ctx, key, value, ttl)
		}
	})},
	{"Touch to no expiry does nothing", []string{"ttl/touch"}, vary(func(f *faulty) {
		f.touch = func(ctx context.Context, key string, ttl time.Duration) (bool, error) {
			if ttl == sdk.NoExpiry {
				_, ok, err := f.reference.Get(ctx, key)
				return ok, err
			}
			return f.reference.Touch(ctx, key, ttl)
		}
	})},
	{"Add and Replace forget the TTL", []string{"ttl/add-and-replace"}, vary(func(f *faulty) {
		f.add = func(ctx context.Context, key string, v []byte, _ time.Duration) (bool, error) {
			return f.reference.Add(ctx, key, v, 0)
		}
		f.replace = func(ctx context.Context, key string, v []byte, _ time.Duration) (bool, error) {
			return f.reference.Replace(ctx, key, v, 0)
		}
	})},

	// atomicity
	{"Add looks before it stores", []string{"atomic/add-race", "atomic/add-race-between-processes", "atomic/add-over-expired"}, vary(func(f *faulty) {
		f.add = func(ctx context.Context, key string, v []byte, ttl time.Duration) (bool, error) {
			if _, ok, _ := f.reference.Get(ctx, key); ok {
				return false, nil
			}
			pause()
			return true, f.reference.Set(ctx, key, v, ttl)
		}
	})},
	{"Add loses to an expired entry", []string{"ttl/expired-is-absent", "atomic/add-over-expired"}, vary(func(f *faulty) {
		f.add = func(ctx context.Context, key string, v []byte, ttl time.Duration) (bool, error) {
			unlock := f.locked()
			_, there := f.items[key]
			unlock()
			if there {
				return false, nil
			}
			return f.reference.Add(ctx, key, v, ttl)
		}
	})},
	{"Add changes the expiry of what is there", []string{"atomic/add"}, vary(func(f *faulty) {
		f.add = func(ctx context.Context, key string, v []byte, ttl time.Duration) (bool, error) {
			added, err := f.reference.Add(ctx, key, v, ttl)
			f.reference.Touch(ctx, key, ttl)
			return added, err
		}
	})},
	{"Replace creates", []string{"atomic/replace"}, vary(func(f *faulty) {
		f.replace = func(ctx context.Context, key string, v []byte, ttl time.Duration) (bool, error) {
			return true, f.reference.Set(ctx, key, v, ttl)
		}
	})},
	{"Replace looks before it stores", []string{"atomic/replace-race"}, vary(func(f *faulty) {
		f.replace = func(ctx context.Context, key string, v []byte, ttl time.Duration) (bool, error) {
			if _, ok, _ := f.reference.Get(ctx, key); !ok {
				return false, nil
			}
			pause()
			return true, f.reference.Set(ctx, key, v, ttl)
		}
	})},
	{"Pull reads and then deletes", []string{"atomic/pull-race", "atomic/pull-against-add"}, vary(func(f *faulty) {
		f.pull = func(ctx context.Context, key string) ([]byte, bool, error) {
			value, ok, _ := f.reference.Get(ctx, key)
			pause()
			f.reference.Delete(ctx, key)
			return value, ok, nil
		}
	})},
	{"Pull leaves the entry", []string{"atomic/pull"}, vary(func(f *faulty) { f.pull = f.get })},
	{"CompareDelete looks before it deletes", []string{"atomic/compare-delete-race"}, vary(func(f *faulty) {
		f.compareDelete = func(ctx context.Context, key string, v []byte) (bool, error) {
			value, ok, _ := f.reference.Get(ctx, key)
			if !ok || !bytes.Equal(value, v) {
				return false, nil
			}
			pause()
			return f.reference.Delete(ctx, key)
		}
	})},
	{"CompareDelete compares the beginning", []string{"atomic/compare-delete"}, vary(func(f *faulty) {
		f.compareDelete = func(ctx context.Context, key string, v []byte) (bool, error) {
			value, _, _ := f.reference.Get(ctx, key)
			if !bytes.HasPrefix(value, v) {
				return false, nil
			}
			return f.reference.Delete(ctx, key)
		}
	})},
	{"CompareDelete doesn't compare", []string{"atomic/compare-delete"}, vary(func(f *faulty) {
		f.compareDelete = func(ctx context.Context, key string, _ []byte) (bool, error) { return f.reference.Delete(ctx, key) }
	})},

	// counters
	{"Increment forgets the expiry", []string{"counters/expiry-kept"}, vary(func(f *faulty) {
		f.increment = func(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error) {
			_, live, _ := f.reference.Get(ctx, key)
			sum, err := f.reference.Increment(ctx, key, delta, initialTTL)
			if live {
				f.reference.Touch(ctx, key, sdk.NoExpiry)
			}
			return sum, err
		}
	})},
	{"Increment prolongs the expiry", []string{"counters/expiry-kept"}, vary(func(f *faulty) {
		f.increment = func(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error) {
			sum, err := f.reference.Increment(ctx, key, delta, initialTTL)
			f.reference.Touch(ctx, key, initialTTL)
			return sum, err
		}
	})},
	{"a counter at 0 is new", []string{"counters/through-zero"}, vary(func(f *faulty) {
		f.increment = func(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error) {
			if value, _, _ := f.reference.Get(ctx, key); string(value) == "0" {
				f.reference.Delete(ctx, key)
			}
			return f.reference.Increment(ctx, key, delta, initialTTL)
		}
	})},
	{"a new counter has no expiry", []string{"counters/initial-ttl", "counters/no-immortal"}, vary(func(f *faulty) {
		f.increment = func(ctx context.Context, key string, delta int64, _ time.Duration) (int64, error) {
			return f.reference.Increment(ctx, key, delta, sdk.NoExpiry)
		}
	})},
	{"Increment goes on from an expired value", []string{"counters/initial-ttl"}, vary(func(f *faulty) {
		f.increment = func(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error) {
			unlock := f.locked()
			if i, ok := f.items[key]; ok && !i.live() {
				f.items[key] = item{i.value, deadline(initialTTL)}
			}
			unlock()
			return f.reference.Increment(ctx, key, delta, initialTTL)
		}
	})},
	{"Increment checks, then counts", []string{"counters/no-immortal"}, vary(func(f *faulty) {
		f.increment = func(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error) {
			_, live, _ := f.reference.Get(ctx, key)
			pause()
			if live {
				initialTTL = sdk.NoExpiry // by now it may have expired
			}
			return f.reference.Increment(ctx, key, delta, initialTTL)
		}
	})},
	{"Increment reads and then writes", []string{"counters/no-lost-step", "counters/no-lost-step-between-processes"}, vary(func(f *faulty) {
		f.increment = func(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
			value, ok, _ := f.reference.Get(ctx, key)
			if !ok {
				value = []byte("0")
			}
			sum, err := sdk.AddInteger(value, delta)
			if err != nil {
				return 0, err
			}
			runtime.Gosched()
			return sum, f.reference.Set(ctx, key, sdk.FormatInteger(sum), ttl)
		}
	})},
	{"numbers are read generously", []string{"counters/grammar"}, lenient(func(text string) (int64, error) { return strconv.ParseInt(strings.TrimSpace(text), 10, 64) })},
	{"numbers are what text begins with", []string{"counters/grammar"}, lenient(func(text string) (int64, error) {
		for end := len(text); end > 0; end-- {
			if n, err := strconv.ParseInt(text[:end], 10, 64); err == nil {
				return n, nil
			}
		}
		return 0, nil
	})},
	{"counters wrap around", []string{"counters/overflow"}, lenient(func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) })},
	{"counters are floats", []string{"counters/overflow", "counters/grammar"}, lenient(func(text string) (int64, error) {
		n, err := strconv.ParseFloat(text, 64)
		return int64(n), err
	})},
	{"an overflow ruins the counter", []string{"counters/overflow"}, vary(func(f *faulty) {
		f.increment = func(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
			sum, err := f.reference.Increment(ctx, key, delta, ttl)
			if errors.Is(err, sdk.ErrOverflow) {
				f.reference.Set(ctx, key, []byte("0"), ttl)
			}
			return sum, err
		}
	})},

	// batches
	{"GetMany answers hits only", []string{"batch/get"}, vary(func(f *faulty) {
		f.getMany = func(ctx context.Context, keys []string) ([]sdk.Lookup, error) {
			all, _ := f.reference.GetMany(ctx, keys)
			var hits []sdk.Lookup
			for _, l := range all {
				if l.OK {
					hits = append(hits, l)
				}
			}
			return append(hits, make([]sdk.Lookup, len(keys)-len(hits))...), nil
		}
	})},
	{"GetMany answers in its own order", []string{"batch/get", "batch/many-keys"}, vary(func(f *faulty) {
		f.getMany = func(ctx context.Context, keys []string) ([]sdk.Lookup, error) {
			all, err := f.reference.GetMany(ctx, keys)
			for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
				all[i], all[j] = all[j], all[i]
			}
			return all, err
		}
	})},
	{"SetMany has one TTL", []string{"batch/set"}, vary(func(f *faulty) {
		f.setMany = func(ctx context.Context, entries []sdk.Entry) error {
			for i := range entries {
				entries[i].TTL = entries[0].TTL
			}
			return f.reference.SetMany(ctx, entries)
		}
	})},
	{"DeleteMany counts the keys", []string{"batch/delete", "ttl/expired-is-absent"}, vary(func(f *faulty) {
		f.deleteMany = func(ctx context.Context, keys []string) (int, error) {
			f.reference.DeleteMany(ctx, keys)
			return len(keys), nil
		}
	})},
	{"batches deadlock", []string{"batch/crossing"}, vary(func(f *faulty) {
		var busy atomic.Int64
		f.setMany = func(ctx context.Context, entries []sdk.Entry) error {
			defer busy.Add(-1)
			if busy.Add(1) > 1 {
				return errors.New("deadlock detected")
			}
			pause()
			return f.reference.SetMany(ctx, entries)
		}
	})},
	{"a batch stops at a thousand", []string{"batch/many-keys"}, vary(func(f *faulty) {
		f.setMany = func(ctx context.Context, entries []sdk.Entry) error {
			return f.reference.SetMany(ctx, entries[:min(len(entries), 1000)])
		}
	})},

	// listing and clearing
	{"Keys reads its prefix as a pattern", []string{"list/literal"}, vary(func(f *faulty) {
		f.keys = func(ctx context.Context, prefix string, cursor []byte, limit int) (keys []string, _ []byte, _ error) {
			all, next, err := f.reference.Keys(ctx, "", cursor, limit)
			for _, key := range all {
				if like(prefix, key) {
					keys = append(keys, key)
				}
			}
			return keys, next, err
		}
	})},
	{"Keys lists what has expired", []string{"list/prefix"}, vary(func(f *faulty) {
		f.keys = func(_ context.Context, prefix string, _ []byte, _ int) (keys []string, _ []byte, _ error) {
			defer f.locked()()
			for key := range f.items {
				if strings.HasPrefix(key, prefix) {
					keys = append(keys, key)
				}
			}
			return keys, nil, nil
		}
	})},
	{"pages are numbered", []string{"list/pages"}, vary(func(f *faulty) {
		f.keys = func(ctx context.Context, prefix string, cursor []byte, limit int) ([]string, []byte, error) {
			all, _, _ := f.reference.Keys(ctx, prefix, nil, 1<<30)
			from, _ := strconv.Atoi(string(cursor))
			if from += limit; from >= len(all) {
				return all[min(from-limit, len(all)):], nil, nil
			}
			time.Sleep(200 * time.Microsecond)
			return all[from-limit : from], []byte(strconv.Itoa(from)), nil
		}
	})},
	{"the last page comes again", []string{"list/prefix", "list/everything"}, vary(func(f *faulty) {
		f.keys = func(ctx context.Context, prefix string, cursor []byte, limit int) ([]string, []byte, error) {
			keys, next, err := f.reference.Keys(ctx, prefix, cursor, limit)
			if next == nil {
				next = cursor
			}
			if len(next) == 0 {
				next = []byte(" ")
			}
			return keys, next, err
		}
	})},
	{"Keys lists encoded keys", []string{"list/hostile"}, vary(func(f *faulty) {
		f.keys = func(ctx context.Context, prefix string, cursor []byte, limit int) ([]string, []byte, error) {
			keys, next, err := f.reference.Keys(ctx, prefix, cursor, limit)
			for i := range keys {
				keys[i] = strings.ReplaceAll(keys[i], "/", "%2F")
			}
			return keys, next, err
		}
	})},
	{"an empty prefix matches nothing", []string{"list/everything"}, vary(func(f *faulty) {
		f.keys = func(ctx context.Context, prefix string, cursor []byte, limit int) ([]string, []byte, error) {
			if prefix == "" {
				return nil, nil, nil
			}
			return f.reference.Keys(ctx, prefix, cursor, limit)
		}
	})},
	{"Clear ignores the prefix", []string{"clear/prefix", "clear/pages"}, vary(func(f *faulty) {
		f.clear = func(ctx context.Context, _ string, cursor []byte) ([]byte, int, error) {
			return f.reference.Clear(ctx, "", cursor)
		}
	})},
	{"Clear reads its prefix as a pattern", []string{"clear/literal"}, vary(func(f *faulty) {
		f.clear = func(ctx context.Context, prefix string, _ []byte) (_ []byte, removed int, _ error) {
			all, _, _ := f.reference.Keys(ctx, "", nil, 1<<30)
			for _, key := range all {
				if like(prefix, key) {
					f.reference.Delete(ctx, key)
					removed++
				}
			}
			return nil, removed, nil
		}
	})},
	{"Clear takes the leases too", []string{"clear/leases-stay"}, vary(func(f *faulty) {
		f.clear = func(ctx context.Context, prefix string, cursor []byte) ([]byte, int, error) {
			unlock := f.locked()
			clear(f.leases)
			unlock()
			return f.reference.Clear(ctx, prefix, cursor)
		}
	})},
	{"Clear does one page", []string{"clear/pages", "clear/under-writes"}, vary(func(f *faulty) {
		f.clear = func(ctx context.Context, prefix string, cursor []byte) ([]byte, int, error) {
			_, removed, err := f.reference.Clear(ctx, prefix, cursor)
			return nil, removed, err
		}
	})},
	{"Clear of everything does nothing", []string{"clear/everything"}, vary(func(f *faulty) {
		f.clear = func(ctx context.Context, prefix string, cursor []byte) ([]byte, int, error) {
			if prefix == "" {
				return nil, 0, nil
			}
			return f.reference.Clear(ctx, prefix, cursor)
		}
	})},
	{"Clear waits for silence", []string{"clear/under-writes"}, vary(func(f *faulty) {
		f.clear = func(ctx context.Context, prefix string, _ []byte) ([]byte, int, error) {
			time.Sleep(100 * time.Microsecond)
			keys, _, _ := f.reference.Keys(ctx, prefix, nil, 1)
			removed, err := f.reference.DeleteMany(ctx, keys)
			if removed == 0 {
				return nil, 0, err
			}
			return []byte("again"), removed, err
		}
	})},

	// leases
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
	{"leases end early", []string{"lease/expired"}, relet(func(d time.Duration) time.Duration { return d * 9 / 10 })},
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

	// life
	{"a wait hides its end", []string{"life/cancelled-during"}, vary(func(f *faulty) {
		f.get = func(ctx context.Context, key string) ([]byte, bool, error) {
			if sleep(ctx, time.Millisecond) != nil {
				return nil, false, errors.New("the connection broke")
			}
			return f.reference.Get(ctx, key)
		}
	})},
	{"a store panics", []string{"values/round-trip"}, vary(func(f *faulty) {
		f.get = func(context.Context, string) ([]byte, bool, error) { panic("oops") }
	})},
	{"stores cache what they read", []string{"life/shared", "atomic/add-race-between-processes"}, vary(func(f *faulty) { f.reference.disk = newDisk() })},
	{"data is lost at Close", []string{"life/reopen", "life/reopen-leases"}, vary(func(f *faulty) { f.reference.disk = newDisk() })},
	{"a volatile store persists", []string{"life/volatile"}, traits(func(tr *sdk.Traits) { tr.Class = sdk.ClassVolatile })},
	{"exclusive data opens twice", []string{"life/exclusive"}, traits(func(tr *sdk.Traits) { tr.Class = sdk.ClassExclusive })},
	{"a report has a line twice", []string{"life/ping-and-stats"}, vary(func(f *faulty) {
		f.stats = func(context.Context) ([]sdk.Stat, error) {
			return []sdk.Stat{{Name: "a", Value: "1"}, {Name: "a", Value: "2"}}, nil
		}
	})},
	{"an announced report is empty", []string{"life/ping-and-stats"}, vary(func(f *faulty) {
		f.stats = func(context.Context) ([]sdk.Stat, error) { return nil, nil }
	})},

	{"the first writers trip over each other", []string{"life/cold-start"}, vary(func(f *faulty) {
		var ready atomic.Bool
		f.set = func(ctx context.Context, key string, v []byte, ttl time.Duration) error {
			if !ready.Load() {
				pause()
				if ready.Swap(true) {
					return errors.New("the table exists already")
				}
			}
			return f.reference.Set(ctx, key, v, ttl)
		}
	})},

	// announcements
	{"what is announced is refused", []string{"announce/offered"}, vary(func(f *faulty) {
		f.pull = func(context.Context, string) ([]byte, bool, error) { return nil, false, errors.ErrUnsupported }
	})},
	{"the class is unknown", []string{"announce/traits"}, traits(func(tr *sdk.Traits) { tr.Class = "shared" })},
	{"the lock strategy is unknown", []string{"announce/traits"}, traits(func(tr *sdk.Traits) { tr.LockStrategy = "mutex" })},
	{"leases reach nowhere", []string{"announce/traits"}, traits(func(tr *sdk.Traits) { tr.LockScope = sdk.ScopeNone })},
	{"redlock has no Add", []string{"announce/traits"}, traits(func(tr *sdk.Traits) {
		tr.LockStrategy, tr.Withdrawn = sdk.StrategyRedlock, []sdk.Capability{sdk.CanAdd}
	})},
	{"a release compares with nothing", []string{"announce/traits"}, traits(func(tr *sdk.Traits) { tr.Withdrawn = []sdk.Capability{sdk.CanCompareDelete} })},
	{"keys are longer than hosts send", []string{"announce/traits"}, traits(func(tr *sdk.Traits) { tr.MaxKey = 4096 })},
}

// lenient counts with a reader of numbers of its own, and without a look at the
// sum.
func lenient(parse func(string) (int64, error)) func(*reference) sdk.Store {
	return vary(func(f *faulty) {
		f.increment = func(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
			defer f.locked()()
			i, ok := f.find(key)
			if !ok {
				i = item{[]byte("0"), deadline(ttl)}
			}
			n, err := parse(string(i.value))
			if err != nil {
				return 0, sdk.ErrNotInteger
			}
			f.items[key] = item{sdk.FormatInteger(n + delta), i.deadline}
			return n + delta, nil
		}
	})
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

// like reads prefix as a shell pattern.
func like(prefix, key string) bool {
	ok, err := path.Match(strings.ReplaceAll(prefix, "/", "|")+"*", strings.ReplaceAll(key, "/", "|"))
	return ok || err != nil && strings.HasPrefix(key, prefix)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *faulty) Get(ctx context.Context, key string) ([]byte, bool, error) { return f.get(ctx, key) }
func (f *faulty) Set(ctx context.Context, key string, v []byte, ttl time.Duration) error {
	return f.set(ctx, key, v, ttl)
}
func (f *faulty) Delete(ctx context.Context, key string) (bool, error) { return f.del(ctx, key) }
func (f *faulty) Add(ctx context.Context, key string, v []byte, ttl time.Duration) (bool, error) {
	return f.add(ctx, key, v, ttl)
}
func (f *faulty) Replace(ctx context.Context, key string, v []byte, ttl time.Duration) (bool, error) {
	return f.replace(ctx, key, v, ttl)
}
func (f *faulty) Pull(ctx context.Context, key string) ([]byte, bool, error) { return f.pull(ctx, key) }
func (f *faulty) CompareDelete(ctx context.Context, key string, v []byte) (bool, error) {
	return f.compareDelete(ctx, key, v)
}
func (f *faulty) Increment(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
	return f.increment(ctx, key, delta, ttl)
}
func (f *faulty) GetMany(ctx context.Context, keys []string) ([]sdk.Lookup, error) {
	return f.getMany(ctx, keys)
}
func (f *faulty) SetMany(ctx context.Context, entries []sdk.Entry) error {
	return f.setMany(ctx, entries)
}
func (f *faulty) DeleteMany(ctx context.Context, keys []string) (int, error) {
	return f.deleteMany(ctx, keys)
}
func (f *faulty) TTL(ctx context.Context, key string) (time.Duration, bool, error) {
	return f.ttl(ctx, key)
}
func (f *faulty) Touch(ctx context.Context, key string, ttl time.Duration) (bool, error) {
	return f.touch(ctx, key, ttl)
}
func (f *faulty) Keys(ctx context.Context, prefix string, cursor []byte, limit int) ([]string, []byte, error) {
	return f.keys(ctx, prefix, cursor, limit)
}
func (f *faulty) Clear(ctx context.Context, prefix string, cursor []byte) ([]byte, int, error) {
	return f.clear(ctx, prefix, cursor)
}
func (f *faulty) AcquireLease(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	return f.acquire(ctx, q)
}
func (f *faulty) RenewLease(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	return f.renew(ctx, q)
}
func (f *faulty) ReleaseLease(ctx context.Context, q sdk.LeaseRequest) (bool, error) {
	return f.release(ctx, q)
}
func (f *faulty) WaitLease(ctx context.Context, q sdk.LeaseRequest) error { return f.wait(ctx, q) }
func (f *faulty) Stats(ctx context.Context) ([]sdk.Stat, error)           { return f.stats(ctx) }
