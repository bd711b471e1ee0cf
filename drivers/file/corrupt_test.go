package file

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/cachewright/cachewright/sdk"
	"github.com/cespare/xxhash/v2"
	"golang.org/x/sys/unix"
)

// withHeader changes a header and makes its checksum right again.
func withHeader(entry []byte, change func(header []byte)) []byte {
	entry = bytes.Clone(entry)
	end := beforeKey + int(binary.LittleEndian.Uint16(entry[6:]))
	change(entry)
	binary.LittleEndian.PutUint64(entry[end:], xxhash.Sum64(entry[:end]))
	return entry
}

// damages put something that can't be read in the place of the entry "key".
var damages = []struct {
	name string
	says string
	put  func(path string, entry []byte) error
}{
	{"empty", "empty", content(func(e []byte) []byte { return nil })},
	{"foreign text", "no entry of a cachewright store", content(func(e []byte) []byte { return []byte("hello, world") })},
	{"zeros", "no entry of a cachewright store", content(func(e []byte) []byte { return make([]byte, len(e)) })},
	{"header cut short", "cut short", content(func(e []byte) []byte { return e[:beforeKey+1] })},
	{"key cut short", "cut short", content(func(e []byte) []byte { return e[:beforeKey+5] })},
	{"damaged deadline", "damaged", content(func(e []byte) []byte { e[8] ^= 1; return e })},
	{"value cut short", "cut short", content(func(e []byte) []byte { return e[:len(e)-1] })},
	{"something behind the value", "follows", content(func(e []byte) []byte { return append(e, 0) })},
	{"a value of a terabyte", "cut short", content(func(e []byte) []byte {
		return withHeader(e, func(h []byte) { binary.LittleEndian.PutUint64(h[16:], 1<<40) })
	})},
	{"a value of many exabytes", "damaged", content(func(e []byte) []byte {
		return withHeader(e, func(h []byte) { binary.LittleEndian.PutUint64(h[16:], math.MaxInt64) })
	})},
	{"a value of negative length", "damaged", content(func(e []byte) []byte {
		return withHeader(e, func(h []byte) { binary.LittleEndian.PutUint64(h[16:], math.MaxUint64) })
	})},
	{"a later format", "format 2", content(func(e []byte) []byte { return withHeader(e, func(h []byte) { h[4] = 2 }) })},
	{"unknown flags", "flags 1", content(func(e []byte) []byte { return withHeader(e, func(h []byte) { h[5] = 1 }) })},
	{"another key's entry", "another key", content(func(e []byte) []byte { return entryBytes("yek", 0, []byte("value")) })},
	{"a symbolic link", "symbolic link", func(path string, entry []byte) error {
		return errors.Join(os.Remove(path), os.WriteFile(path+".target", entry, 0o600), os.Symlink(path+".target", path))
	}},
	{"a directory", "no regular file", func(path string, _ []byte) error {
		return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
	}},
	{"a pipe", "", func(path string, _ []byte) error {
		return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600))
	}},
	{"a socket", "no regular file", func(path string, _ []byte) error {
		must := os.Remove(path)
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err == nil {
			l.SetUnlinkOnClose(false)
			err = l.Close()
		}
		return errors.Join(must, err)
	}},
}

func content(change func(entry []byte) []byte) func(string, []byte) error {
	return func(path string, entry []byte) error { return os.WriteFile(path, change(entry), 0o600) }
}

// damaged is a store whose entry "key" can't be read.
func damaged(t *testing.T, put func(string, []byte) error) *store {
	t.Helper()
	dir, err := os.MkdirTemp("", "cw") // a socket's path must be short
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	s := openTest(t, at(dir))
	set(t, s, "key", "value", sdk.NoExpiry)
	set(t, s, "other", "good", sdk.NoExpiry)
	must(t, put(fileOf(s, "key"), entryBytes("key", 0, []byte("value"))))
	return s
}

func TestWhatCantBeReadIsCorruptAndNeverAMiss(t *testing.T) {
	t.Parallel()
	for _, damage := range damages {
		t.Run(damage.name, func(t *testing.T) {
			t.Parallel()
			ctx, s := t.Context(), damaged(t, damage.put)
			_, _, err := s.Get(ctx, "key")
			fails(t, err, sdk.ErrCorrupt, damage.says, fileOf(s, "key"), "set or delete the key")
			_, _, err = s.Pull(ctx, "key")
			fails(t, err, sdk.ErrCorrupt)
			_, err = s.Increment(ctx, "key", 1, 0)
			fails(t, err, sdk.ErrCorrupt)
			_, err = s.CompareDelete(ctx, "key", []byte("value"))
			fails(t, err, sdk.ErrCorrupt)
			_, err = s.Touch(ctx, "key", 0)
			fails(t, err, sdk.ErrCorrupt)
			_, _, err = s.TTL(ctx, "key")
			fails(t, err, sdk.ErrCorrupt)
			_, err = s.Add(ctx, "key", nil, 0)
			fails(t, err, sdk.ErrCorrupt)
			_, err = s.Replace(ctx, "key", nil, 0)
			fails(t, err, sdk.ErrCorrupt)
			holds(t, s, "other", "good")
			sweepNow(t, s)
			_, _, err = s.Get(ctx, "key")
			fails(t, err, sdk.ErrCorrupt) // no sweep makes it a miss
		})
	}
}

func TestADamagedValueIsCorruptWhereItIsRead(t *testing.T) {
	t.Parallel()
	for _, size := range []int{5, firstRead, 5 << 20} {
		s, value := openTest(t), strings.Repeat("v", size)
		set(t, s, "key", value, sdk.NoExpiry)
		entry := entryBytes("key", 0, []byte(value))
		entry[len(entry)-1] ^= 1
		must(t, os.WriteFile(fileOf(s, "key"), entry, 0o600))
		_, _, err := s.Get(t.Context(), "key")
		fails(t, err, sdk.ErrCorrupt, "the value is damaged")
		_, _, err = s.Pull(t.Context(), "key")
		fails(t, err, sdk.ErrCorrupt, "the value is damaged")
	}
}

func TestSetDeleteAndClearWorkOnWhatCantBeRead(t *testing.T) {
	t.Parallel()
	repairs := map[string]func(ctx context.Context, s *store) error{
		"set":    func(ctx context.Context, s *store) error { return s.Set(ctx, "key", []byte("new"), 0) },
		"delete": func(ctx context.Context, s *store) error { return gone(s.Delete(ctx, "key")) },
		"clear": func(ctx context.Context, s *store) error {
			_, _, err := s.Clear(ctx, "", nil)
			return err
		},
		"clear by prefix": func(ctx context.Context, s *store) error {
			_, removed, err := s.Clear(ctx, "ke", nil)
			return gone(removed > 0, err)
		},
	}
	for _, damage := range damages {
		for name, repair := range repairs {
			t.Run(damage.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := damaged(t, damage.put)
				must(t, repair(t.Context(), s))
				want := ""
				if name == "set" {
					want = "new"
				}
				holds(t, s, "key", want)
			})
		}
	}
}

func gone(did bool, err error) error {
	if err == nil && !did {
		return errors.New("it says that nothing was there")
	}
	return err
}

func TestADirectoryWithSomethingInItStaysAndIsNamed(t *testing.T) {
	t.Parallel()
	s := damaged(t, func(path string, _ []byte) error {
		return errors.Join(os.Remove(path), os.MkdirAll(path+"/somebody's", 0o700))
	})
	fails(t, s.Set(t.Context(), "key", nil, 0), sdk.ErrUnavailable, fileOf(s, "key"), "move it away")
	_, err := s.Delete(t.Context(), "key")
	fails(t, err, sdk.ErrUnavailable, fileOf(s, "key"), "move it away")
	_, removed, err := s.Clear(t.Context(), "", nil)
	if err != nil || removed != 1 {
		t.Errorf("clear removed %d, want only the other entry: %v", removed, err)
	}
	if left := files(t, s); len(left) != 1 {
		t.Errorf("there is %v", left)
	}
}
