package memcached

import (
	"errors"
	"testing"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

func TestOnlyADedicatedStoreCanBeCleared(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	for _, dedicated := range []bool{false, true} {
		in, err := Driver.Open(t.Context(), map[string]any{"servers": []any{server.Addr()}, "dedicated": dedicated})
		must(t, err)
		t.Cleanup(func() { in.Close(t.Context()) })
		if got := in.Capabilities().Has(sdk.CanClear); got != dedicated {
			t.Errorf("dedicated %v: it announces Clear: %v", dedicated, got)
		}
		if _, _, err := in.Clear(t.Context(), "app:", nil); dedicated != (err == nil) {
			t.Errorf("dedicated %v: %v", dedicated, err)
		} else if !dedicated {
			fails(t, err, errors.ErrUnsupported)
		}
		if _, _, err := in.Keys(t.Context(), "", nil, 10); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("Keys: %v", err)
		}
	}
}

func TestClearTakesEverythingOnAllServers(t *testing.T) {
	t.Parallel()
	_, addrs := startServers(t, 3)
	s := openTest(t, at(addrs...), dedicated)
	keys, entries := entriesOf(300)
	must(t, s.SetMany(t.Context(), entries))
	set(t, s, "another-prefix:key", "v", time.Hour)
	acquire(t, s, exclusive("owner", time.Hour))
	next, removed, err := s.Clear(t.Context(), "app:", nil)
	if len(next) != 0 || removed != 302 || err != nil {
		t.Errorf("Clear: %q, %d, %v; want no next page, 302 entries", next, removed, err)
	}
	found, err := s.GetMany(t.Context(), append(keys, "another-prefix:key"))
	must(t, err)
	for i, f := range found {
		if f.OK || f.Err != nil {
			t.Errorf("answer %d is %+v", i, f)
		}
	}
	if g, err := s.RenewLease(t.Context(), exclusive("owner", time.Hour)); g.OK || err != nil {
		t.Errorf("the lock is still the owner's: %+v, %v", g, err)
	}
	set(t, s, "after", "v", time.Hour)
	holds(t, s, "after", "v")
}

func TestAClearThatOneServerMissesSaysSo(t *testing.T) {
	t.Parallel()
	servers, addrs := startServers(t, 2)
	s := openTest(t, at(addrs...), dedicated)
	servers[1].Kill(t)
	_, _, err := s.Clear(t.Context(), "", nil)
	fails(t, err, sdk.ErrMaybeApplied, "1 of 2 servers", addrs[1])
	if errors.Is(err, sdk.ErrUnavailable) {
		t.Errorf("%v says that nothing was applied", err)
	}
	servers[0].Kill(t)
	_, _, err = s.Clear(t.Context(), "", nil)
	fails(t, err, sdk.ErrUnavailable, addrs[0], addrs[1])
}

func TestAServerWithoutFlushSaysSo(t *testing.T) {
	t.Parallel()
	s := openTest(t, at(startServer(t, "-F").Addr()), dedicated)
	_, _, err := s.Clear(t.Context(), "", nil)
	fails(t, err, errors.ErrUnsupported, "-F")
}
