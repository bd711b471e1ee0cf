package database

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

func TestValues(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	conn := beside(t, server.URL(""))

	t.Run("are in the table as the codec made them, and counters as their text", func(t *testing.T) {
		s := fresh(t, server)
		s.mustSet(t, "json", `{"a":1}`, 0)
		if _, err := s.Increment(bounded(t), "n", -42, 0); err != nil {
			t.Fatal(err)
		}
		const text = `SELECT string_agg(key || '=' || convert_from(value, 'UTF8'), ' ' ORDER BY key) FROM %s`
		if got := ask[string](t, conn, fmt.Sprintf(text, s.settings.table)); got != `json={"a":1} n=-42` {
			t.Errorf("the table holds %s", got)
		}
	})

	t.Run("live from the end of a wait for their row, not from its start", func(t *testing.T) {
		for _, op := range []struct {
			name string
			run  func(*store) error
		}{
			{"Set", func(s *store) error { return s.Set(bounded(t), "k", []byte("new"), time.Second) }},
			{"SetMany", func(s *store) error {
				return s.SetMany(bounded(t), []sdk.Entry{{Key: "k", Value: []byte("new"), TTL: time.Second}})
			}},
			{"Touch", func(s *store) error { _, err := s.Touch(bounded(t), "k", time.Second); return err }},
			{"Replace", func(s *store) error { _, err := s.Replace(bounded(t), "k", []byte("new"), time.Second); return err }},
		} {
			s := fresh(t, server)
			s.mustSet(t, "k", "old", time.Hour)
			lock, err := conn.Begin(bounded(t))
			must(t, err)
			execute(t, conn, fmt.Sprintf(`SELECT FROM %s FOR UPDATE`, s.settings.table))
			written := make(chan error, 1)
			go func() { written <- op.run(s) }()
			other := beside(t, server.URL(""))
			eventually(t, "it waits for the row", func() bool {
				return ask[int](t, other, `SELECT count(*) FROM pg_locks WHERE NOT granted`) > 0
			})
			time.Sleep(300 * time.Millisecond) // what would be missing
			freed := ask[time.Time](t, conn, `SELECT clock_timestamp()`)
			must(t, lock.Rollback(bounded(t)))
			must(t, <-written)
			expiry := ask[time.Time](t, conn, fmt.Sprintf(`SELECT expiry FROM %s`, s.settings.table))
			if lives := expiry.Sub(freed); lives < time.Second {
				t.Errorf("%s: the entry lives %v after the wait; want 1s", op.name, lives)
			}
		}
	})

	t.Run("that expired while their row was waited for are not live", func(t *testing.T) {
		s := fresh(t, server)
		ops := map[string]func() (bool, error){
			"Replace":       func() (bool, error) { return s.Replace(bounded(t), "Replace", []byte("v"), 0) },
			"Touch":         func() (bool, error) { return s.Touch(bounded(t), "Touch", time.Hour) },
			"Delete":        func() (bool, error) { return s.Delete(bounded(t), "Delete") },
			"CompareDelete": func() (bool, error) { return s.CompareDelete(bounded(t), "CompareDelete", []byte("old")) },
			"Pull":          func() (bool, error) { _, ok, err := s.Pull(bounded(t), "Pull"); return ok, err },
		}
		for name := range ops {
			s.mustSet(t, name, "old", time.Hour)
		}
		lock, err := conn.Begin(bounded(t))
		must(t, err)
		execute(t, conn, fmt.Sprintf(`UPDATE %s SET expiry = clock_timestamp() - interval '1ms'`, s.settings.table))
		type result struct {
			name string
			ok   bool
			err  error
		}
		results := make(chan result, len(ops))
		for name, op := range ops {
			go func() {
				ok, err := op()
				results <- result{name, ok, err}
			}()
		}
		other := beside(t, server.URL(""))
		eventually(t, "all wait for their rows", func() bool {
			return ask[int](t, other, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'`) == len(ops)
		})
		must(t, lock.Commit(bounded(t)))
		for range ops {
			if r := <-results; r.ok || r.err != nil {
				t.Errorf("%s: %t, %v; want false", r.name, r.ok, r.err)
			}
		}
	})

	t.Run("that are read after their end don't take a fresh one with them", func(t *testing.T) {
		s := fresh(t, server)
		s.mustSet(t, "k", "old", time.Millisecond)
		eventually(t, "it expires", func() bool {
			_, ok, err := s.Get(bounded(t), "k")
			return !ok && err == nil
		})
		if n := ask[int](t, conn, fmt.Sprintf(`SELECT count(*) FROM %s`, s.settings.table)); n != 1 {
			t.Errorf("reading left %d rows", n)
		}
	})

	t.Run("of a large batch come in parts that fit", func(t *testing.T) {
		s := fresh(t, server)
		keys := []string{"absent"}
		for i := range 5 {
			key := fmt.Sprint(i)
			keys = append(keys, key, "absent "+key)
			must(t, s.Set(bounded(t), key, bytes.Repeat([]byte{byte(i)}, 5<<20), 0))
		}
		found, err := s.GetMany(bounded(t), keys)
		if err != nil || len(found) == len(keys) || len(found) < 2 || !found[len(found)-1].OK {
			t.Fatalf("%d answers for %d keys with 25 MiB, %v", len(found), len(keys), err)
		}
		one, err := s.GetMany(bounded(t), []string{"absent", "4"})
		if err != nil || len(one) != 2 || one[0].OK || len(one[1].Value) != 5<<20 {
			t.Errorf("one large value: %d answers, %v", len(one), err)
		}
	})

	t.Run("that are no integers are told from those too large to count", func(t *testing.T) {
		s := fresh(t, server)
		for value, want := range map[string]error{
			"": sdk.ErrNotInteger, "x": sdk.ErrNotInteger, "1.0": sdk.ErrNotInteger, " 1": sdk.ErrNotInteger, "1\n": sdk.ErrNotInteger,
			"01": sdk.ErrNotInteger, "-0": sdk.ErrNotInteger, "+1": sdk.ErrNotInteger, "1e3": sdk.ErrNotInteger, "\x00": sdk.ErrNotInteger,
			"\xff\xfe": sdk.ErrNotInteger, `\061`: sdk.ErrNotInteger, "9223372036854775808": sdk.ErrNotInteger,
			"-9223372036854775809": sdk.ErrNotInteger, "99999999999999999999": sdk.ErrNotInteger, strings.Repeat("1", 1<<20): sdk.ErrNotInteger,
			"9223372036854775807": sdk.ErrOverflow, "0": nil, "-1": nil, "9223372036854775806": nil,
		} {
			must(t, s.Set(bounded(t), "k", []byte(value), 0))
			_, err := s.Increment(bounded(t), "k", 1, 0)
			if !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Errorf("Increment of %.30q: %v; want %v", value, err, want)
			}
		}
		must(t, s.Set(bounded(t), "k", []byte("-9223372036854775808"), 0))
		if _, err := s.Increment(bounded(t), "k", -1, 0); !errors.Is(err, sdk.ErrOverflow) {
			t.Errorf("below the smallest: %v", err)
		}
		if sum, err := s.Increment(bounded(t), "k", math.MaxInt64, 0); err != nil || sum != -1 {
			t.Errorf("smallest and largest make %d, %v", sum, err)
		}
	})

	t.Run("under a key that text can't hold are refused", func(t *testing.T) {
		s := fresh(t, server)
		for _, key := range []string{"a\x00b", "a\xffb"} {
			if err := s.Set(bounded(t), key, nil, 0); !errors.Is(err, sdk.ErrInvalidKey) {
				t.Errorf("Set(%q): %v", key, err)
			}
		}
	})
}

// Every key with the prefix is below, and no other between.
func FuzzBehindAPrefix(f *testing.F) {
	for _, seed := range []string{"", "a", "app:", "é", "\ud7ff", "\U0010ffff", "a\U0010ffff\U0010ffff", "\U0010fffe", "\x7f", "\uffff"} {
		f.Add(seed, "b")
	}
	f.Fuzz(func(t *testing.T, prefix, other string) {
		if !utf8.ValidString(prefix) || !utf8.ValidString(other) || len(prefix)+len(other) > 1024 {
			return
		}
		end := behind(prefix)
		if !utf8.ValidString(end) {
			t.Fatalf("behind %q is %q, which is not UTF-8", prefix, end)
		}
		inside := func(key string) bool { return key >= prefix && key < end }
		for _, key := range []string{prefix, prefix + other, prefix + "\U0010ffff", other} {
			if inside(key) != strings.HasPrefix(key, prefix) {
				t.Errorf("key %q, prefix %q, behind it %q: inside %t", key, prefix, end, inside(key))
			}
		}
	})
}

func TestPrefixes(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	s := fresh(t, server)
	keys := []string{"a", "a%", "a%b", "a_", "aX", "b", "\ud7ff", "\ud7ffx", "\ue000", "\U0010ffff", "\U0010ffffz", "é", "éa", "ê"}
	for _, key := range keys {
		s.mustSet(t, key, "v", 0)
	}
	for _, prefix := range append([]string{""}, keys...) {
		var want []string
		for _, key := range keys {
			if strings.HasPrefix(key, prefix) {
				want = append(want, key)
			}
		}
		slices.Sort(want)
		var got []string
		for cursor := []byte(nil); ; {
			page, next, err := s.Keys(bounded(t), prefix, cursor, 2)
			must(t, err)
			got = append(got, page...)
			if cursor = next; len(next) == 0 {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("keys with prefix %q: %q; want %q", prefix, got, want)
		}
	}
	for _, prefix := range []string{"a%", "a_", "\ud7ff", "\U0010ffff", ""} {
		want := 0
		for _, key := range keys {
			if strings.HasPrefix(key, prefix) {
				want++
			}
		}
		_, removed, err := s.Clear(bounded(t), prefix, nil)
		if err != nil || removed != want {
			t.Errorf("Clear of %q removed %d, %v; want %d", prefix, removed, err, want)
		}
		keys = slices.DeleteFunc(keys, func(key string) bool { return strings.HasPrefix(key, prefix) })
	}
}

// The owner of a page is done within a second; what others write meanwhile
// waits no longer.
func TestClearOfManyEntriesHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	s := fresh(t, server)
	must(t, s.Ping(bounded(t)))
	execute(t, beside(t, server.URL("")), fmt.Sprintf(
		`INSERT INTO %s SELECT 'p:' || n, 'value', CASE WHEN n %% 2 = 0 THEN now() - interval '1s' END FROM generate_series(1, 10000) AS n`, s.settings.table))
	s.mustSet(t, "q:other", "stays", 0)
	pages, removed := 0, 0
	for cursor := []byte(nil); ; pages++ {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		next, n, err := s.Clear(ctx, "p:", cursor)
		cancel()
		must(t, err)
		removed += n
		if cursor = next; len(next) == 0 {
			break
		}
	}
	if pages != 5 || removed != 5000 {
		t.Errorf("%d live entries were removed in %d full pages; want 5000 in 5", removed, pages)
	}
	s.holds(t, "q:other", "stays")
}
