package memcached

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// expiryOf is the expiry in a command that stores an item.
func expiryOf(t *testing.T, command string) int64 {
	t.Helper()
	fields := strings.Fields(command)
	if len(fields) < 5 {
		t.Fatalf("%q stores nothing", command)
	}
	n, err := strconv.ParseInt(fields[3], 10, 64)
	must(t, err)
	return n
}

func TestTTLsThatTheServerWouldMisunderstand(t *testing.T) {
	t.Parallel()
	tp := startTape(t, startServer(t).Addr())
	s := openTest(t, at(tp.addr))
	for _, ttl := range []time.Duration{
		time.Millisecond, 999 * time.Millisecond, time.Second, 24*day + 21*time.Hour, 25 * day,
		30*day - time.Second, 30 * day, 30*day + time.Second, 31 * day, 60 * day, 100 * 365 * day, math.MaxInt64 - math.MaxInt64%time.Millisecond, sdk.NoExpiry,
	} {
		before := time.Now()
		set(t, s, "k", "v", ttl)
		sent := expiryOf(t, tp.played()[0])
		checkBound(t, before, ttl, sent)
		if ttl == time.Millisecond {
			continue // it may be over
		}
		left, ok, err := s.TTL(t.Context(), "k")
		must(t, err)
		if !ok || left > ttl || left < ttl-patience {
			t.Errorf("of %v %v are left (there: %v)", ttl, left, ok)
		}
		tp.played()
	}
}

// checkBound checks an expiry that was sent for a TTL.
func checkBound(t *testing.T, before time.Time, ttl time.Duration, sent int64) {
	t.Helper()
	farthest := time.Unix(math.MaxInt32, 0).Sub(before) - clockMargin*time.Second
	switch {
	case ttl == sdk.NoExpiry || ttl > farthest:
		if sent != 0 {
			t.Errorf("%v: the server is told %d, want none", ttl, sent)
		}
	case sent <= 0:
		t.Errorf("%v: the server is told %d", ttl, sent)
	case sent > relativeLimit && time.Unix(sent, 0).Before(before.Add(ttl)):
		t.Errorf("%v: the server is told %v", ttl, time.Unix(sent, 0))
	case sent <= relativeLimit && time.Duration(sent)*time.Second < ttl+time.Second:
		t.Errorf("%v: the server is told %d s, which may end a second early", ttl, sent)
	}
}

// S34, S37: a reservation lasts as long as was asked for, in milliseconds; what
// the server is told is whole seconds, at least that, and never 0.
func TestReservationsOfFractionsOfASecond(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	tp := startTape(t, server.Addr())
	s, direct := openTest(t, at(tp.addr)), clientOf(t, server.Addr())
	for _, lease := range []time.Duration{10 * time.Second, 5 * time.Second, 1500 * time.Millisecond, time.Millisecond} {
		key := "app:" + lease.String() + "-lock"
		before := time.Now().UnixMilli()
		added, err := s.Add(t.Context(), key, []byte("token"), lease)
		after := time.Now().UnixMilli()
		if !added || err != nil {
			t.Fatalf("%v: %v, %v", lease, added, err)
		}
		if sent := expiryOf(t, tp.played()[0]); time.Duration(sent)*time.Second < lease || sent == 0 {
			t.Errorf("%v: the server is told %d s", lease, sent)
		}
		item, err := direct.Get(key)
		must(t, err)
		deadline, _, err := parseItem(item.Value, plain, key)
		must(t, err)
		if least, most := before+lease.Milliseconds(), after+lease.Milliseconds()+1; deadline < least || deadline > most {
			t.Errorf("%v: the deadline is %d ms after now", lease, deadline-before)
		}
	}
}

// S73: whoever leaves removes what is there.
func TestAReleaseWithoutComparingRemovesAnothersReservation(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	one, other, third := openTest(t, at(server.Addr())), openTest(t, at(server.Addr())), openTest(t, at(server.Addr()))
	add := func(s *store, token string, lease time.Duration) {
		t.Helper()
		added, err := s.Add(t.Context(), "app:job-lock", []byte(token), lease)
		if !added || err != nil {
			t.Fatalf("%s: %v, %v", token, added, err)
		}
	}
	if one.Traits().ReleaseCompares {
		t.Fatal("the store says that a release compares")
	}
	add(one, "one", time.Millisecond)
	eventually(t, "the first lease ends", func() bool {
		_, ok, err := one.Get(t.Context(), "app:job-lock")
		must(t, err)
		return !ok
	})
	add(other, "other", time.Minute)
	for _, leaving := range []*store{one, third} { // one whose lease has ended, and one that never had any
		existed, err := leaving.Delete(t.Context(), "app:job-lock")
		must(t, err)
		if !existed {
			t.Error("there was nothing to remove")
		}
		holds(t, other, "app:job-lock", "")
		add(other, "other", time.Minute)
	}
}

func TestACounterKeepsItsDeadline(t *testing.T) {
	t.Parallel()
	tp := startTape(t, startServer(t).Addr())
	s := openTest(t, at(tp.addr))
	set(t, s, "k", "1", 40*day)
	tp.played()
	_, err := s.Increment(t.Context(), "k", 1, time.Second)
	must(t, err)
	commands := tp.played()
	if sent := expiryOf(t, commands[len(commands)-1]); time.Unix(sent, 0).Before(time.Now().Add(40 * day)) {
		t.Errorf("the swap says %d", sent)
	}
	if left, _, err := s.TTL(t.Context(), "k"); err != nil || left < 40*day-patience {
		t.Errorf("%v are left, %v", left, err)
	}
}
