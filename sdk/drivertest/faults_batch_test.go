package drivertest

import (
	"context"
	"errors"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

var batchFaults = []fault{
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
}

var listFaults = []fault{
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
}

// like reads prefix as a shell pattern.
func like(prefix, key string) bool {
	ok, err := path.Match(strings.ReplaceAll(prefix, "/", "|")+"*", strings.ReplaceAll(key, "/", "|"))
	return ok || err != nil && strings.HasPrefix(key, prefix)
}
