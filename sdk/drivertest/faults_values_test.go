package drivertest

import (
	"bytes"
	"context"
	"errors"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

var valueFaults = []fault{
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
}

var keyFaults = []fault{
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
}
