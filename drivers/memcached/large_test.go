package memcached

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

// total is how many connections the server has ever had, less the one that
// asks.
func total(t *testing.T, server *servertest.Memcached) int {
	t.Helper()
	conn := dialRaw(t, server.Addr())
	stats, err := statistics(conn, conn.r, "stats")
	must(t, err)
	n, err := strconv.Atoi(stats["total_connections"])
	must(t, err)
	return n - 1
}

func TestAValueAboveTheServersLimitIsRefusedAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args  []string
		limit int
		words string
	}{
		{nil, 1 << 20, "1MiB"},
		{[]string{"-I", "4m"}, 4 << 20, "4MiB"},
		{[]string{"-I", "512k"}, 512 << 10, "512KiB"},
	} {
		t.Run(fmt.Sprint(test.limit), func(t *testing.T) {
			t.Parallel()
			server := startServer(t, test.args...)
			s := openTest(t, at(server.Addr()), connections(1))
			const key = "app:large"
			most := test.limit - itemOverhead - len(key) - beforeKey - len(key)
			value := bytes.Repeat([]byte("v"), most+1)
			set(t, s, key, "before", sdk.NoExpiry)
			connected := total(t, server)

			fails(t, s.Set(t.Context(), key, value, time.Hour), sdk.ErrTooLarge, test.words, "-I", server.Addr())
			_, err := s.Add(t.Context(), "app:other", value, time.Hour)
			fails(t, err, sdk.ErrTooLarge, test.words)
			_, err = s.Replace(t.Context(), key, value, time.Hour)
			fails(t, err, sdk.ErrTooLarge, test.words)
			err = s.SetMany(t.Context(), []sdk.Entry{{Key: "app:one", Value: []byte("v")}, {Key: key, Value: value}, {Key: "app:two", Value: []byte("v")}})
			fails(t, err, sdk.ErrTooLarge, key)
			holds(t, s, key, "before")
			holds(t, s, "app:one", "v")
			holds(t, s, "app:two", "v")

			must(t, s.Set(t.Context(), key, value[:most], time.Hour))
			holds(t, s, key, string(value[:most]))
			if now := total(t, server); now != connected+1 { // the one that asked before
				t.Errorf("the server has seen %d connections more", now-connected-1)
			}
		})
	}
}

// The first call of all knows the limit before it sends.
func TestTheFirstCallIsRefusedAsAnyOther(t *testing.T) {
	t.Parallel()
	tp := startTape(t, startServer(t).Addr())
	s := openTest(t, at(tp.addr))
	fails(t, s.Set(t.Context(), "k", make([]byte, 2<<20), time.Hour), sdk.ErrTooLarge, "1MiB")
	if commands := tp.played(); len(commands) != 0 {
		t.Errorf("the server was sent %q", commands)
	}
}

func TestABatchThatOutgrowsAnAnswerIsAnsweredInParts(t *testing.T) {
	t.Parallel()
	s, _ := openAt(t)
	s.ring[0].server.mostAnswer = 1 << 20
	value := bytes.Repeat([]byte("v"), 30_000)
	keys, entries := entriesOf(60)
	for i := range entries {
		entries[i].Value = value
	}
	must(t, s.SetMany(t.Context(), entries))
	keys = append([]string{"absent"}, keys...)
	parts := 0
	for asked := keys; len(asked) > 0; parts++ {
		found, err := s.GetMany(t.Context(), asked)
		must(t, err)
		if len(found) == 0 || len(found) > 1+1<<20/len(value) {
			t.Fatalf("part %d of %d keys is %d answers", parts, len(asked), len(found))
		}
		for i, f := range found {
			if f.Err != nil || f.OK == (asked[i] == "absent") || f.OK && !bytes.Equal(f.Value, value) {
				t.Errorf("%s: %d bytes, %v, %v", asked[i], len(f.Value), f.OK, f.Err)
			}
		}
		asked = asked[len(found):]
	}
	if parts != 2 {
		t.Errorf("%d parts, want 2", parts)
	}
	n, err := s.DeleteMany(t.Context(), keys)
	if n != 60 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
}

// A value larger than what a batch may bring at once is asked for by itself.
func TestAValueThatOutgrowsABatchIsAnswered(t *testing.T) {
	t.Parallel()
	s, _ := openAt(t)
	s.ring[0].server.mostAnswer = 100_000
	value := bytes.Repeat([]byte("v"), 500_000)
	must(t, s.Set(t.Context(), "large", value, time.Hour))
	set(t, s, "small", "v", time.Hour)
	found, err := s.GetMany(t.Context(), []string{"large", "small"})
	must(t, err)
	if len(found) != 1 || !bytes.Equal(found[0].Value, value) {
		t.Errorf("%d answers, the first of %d bytes", len(found), len(found[0].Value))
	}
	found, err = s.GetMany(t.Context(), []string{"small", "large"})
	must(t, err)
	if len(found) != 1 || string(found[0].Value) != "v" {
		t.Errorf("%d answers, the first of %d bytes", len(found), len(found[0].Value))
	}
}

func TestAServerThatHasNoRoomSaysSo(t *testing.T) {
	t.Parallel()
	s := openTest(t, at(startServer(t, "-m", "4", "-M").Addr()))
	value := bytes.Repeat([]byte("v"), 500_000)
	var err error
	for i := 0; err == nil && i < 100; i++ {
		err = s.Set(t.Context(), fmt.Sprint("k", i), value, time.Hour)
	}
	fails(t, err, sdk.ErrUnavailable, "out of memory", "-m")
	set(t, s, "small", "v", time.Hour)
	holds(t, s, "small", "v")
}
