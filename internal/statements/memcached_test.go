package statements

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

// A raw item is what the server has of a lock.
type rawItem struct {
	there    bool
	expiry   int       // the server's own, in whole seconds; -1 is never
	deadline time.Time // in the item's header
}

// look asks the server itself.
func look(t *testing.T, name string) (found rawItem) {
	t.Helper()
	conn, err := net.Dial("tcp", memcachedServer(t).Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "mg %s t v\r\n", name); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var size int
	if n, _ := fmt.Sscanf(line, "VA %d t%d", &size, &found.expiry); n != 2 {
		return rawItem{}
	}
	item := make([]byte, size)
	if _, err := io.ReadFull(r, item); err != nil || size < 24 {
		t.Fatalf("an item of %d bytes: %v", size, err)
	}
	found.there, found.deadline = true, time.UnixMilli(int64(binary.LittleEndian.Uint64(item[16:])))
	return found
}

func TestS5AndS37AMemcachedKeyCarriesTheLeaseToTheMillisecond(t *testing.T) {
	t.Parallel()
	main, _ := on(t, "memcached")
	name := "p:" + t.Name() + "-lock"
	for _, lease := range []time.Duration{5 * time.Second, 1500 * time.Millisecond, time.Millisecond} {
		start := time.Now()
		err := main.Lock(t.Name(), cache.LockTimeout(lease)).Do(t.Context(), func(context.Context) error {
			item := look(t, name)
			lasts := item.deadline.Sub(start)
			if !item.there || lasts < lease-time.Millisecond || lasts > lease+time.Since(start)+2*time.Millisecond {
				t.Errorf("Timeout(%v): the item's deadline is after %v", lease, lasts)
			}
			if left := time.Until(item.deadline); item.expiry < 1 || time.Duration(item.expiry+1)*time.Second < left {
				t.Errorf("Timeout(%v): the server drops it after %d s, want a whole positive number, the lease at least", lease, item.expiry)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if look(t, name).there {
			t.Error("the key is there after Do")
		}
	}
}

func TestS73AMemcachedReleaseTakesWhoeversKeyIsThere(t *testing.T) {
	t.Parallel()
	c := hostConfig(t, "memcached", lasts(300*time.Millisecond))
	m, name := open(t, c), t.Name()+":k-lock"
	a := startHost(t, "holder", c)
	a.expect("inside")
	eventually(t, "the lease is over", func() bool {
		ok, err := m.Has(t.Context(), "k-lock")
		return !ok && err == nil
	})
	leave := hold(t, m.Lock("k", cache.LockTimeout(time.Hour)))
	if !look(t, name).there {
		t.Fatal("the second holder has no key")
	}
	a.say("leave")
	a.expect("<nil>")
	if look(t, name).there {
		t.Error("the late leaver left the second holder's key")
	}
	_ = leave()
	leave = hold(t, m.Lock("k", cache.LockTimeout(time.Hour)))
	other := startHost(t, "holder", c)
	other.expect("inside") // it never had the key
	other.say("leave")
	other.expect("<nil>")
	if look(t, name).there {
		t.Error("an entrant that never had the key left the holder's")
	}
	_ = leave()
}
