package fastplane

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"
)

// FuzzClient has a driver send anything to a host that has calls of every kind
// under way: all of them end, one way or another, and nothing panics.
func FuzzClient(f *testing.F) {
	u := underWay{get: 1 << 32, ttl: 1<<32 | 1, many: 1<<32 | 2, free: 1<<32 | 3}
	for _, does := range badPeers {
		f.Add(does(u))
	}
	for _, a := range answers {
		body := string(append(appendAnswer(nil, a.op, &a.a), a.a.Value...))
		f.Add(append(whole(kindAnswer, uint8(a.a.Status), u.get, body), whole(kindAnswer, uint8(a.a.Status), u.many, body)...))
	}
	f.Add(append(cut(kindAnswer, 2, u.get, 6, "abc"), more(u.get, "def")...))
	f.Fuzz(func(t *testing.T, sent []byte) {
		host, driver := ends(t)
		c, err := NewClient(host)
		must(t, err)
		peer := newPlayer(t, driver)
		must(t, driver.SetDeadline(time.Now().Add(hangGuard)))
		var calls []<-chan result
		for _, r := range []Request{{Op: OpGet}, {Op: OpTTL}, {Op: OpGetMany}, {Op: OpSetMany}, {Op: OpAcquireLease}} {
			calls = append(calls, c.begin(context.Background(), r))
			peer.next(t)
		}
		_, _ = peer.Write(sent) // fails where the host has had enough
		_ = peer.Close()
		for _, call := range calls {
			if r := await(t, call); r.err != nil && !isLost(r.err) {
				t.Error(r.err)
			}
		}
		c.Close()
	})
}

// FuzzServer has a host send anything to a driver: every call that begins ends,
// Serve returns, and nothing panics.
func FuzzServer(f *testing.F) {
	var all []byte
	for i, r := range requests {
		f.Add(request(uint64(i), r))
		all = append(all, request(uint64(i), r)...)
	}
	f.Add(all)
	for _, sends := range badHosts {
		f.Add(append(get(5, "waits"), sends...))
	}
	body := string(bodyOf(&requests[1]))
	f.Add(append(cut(kindRequest, uint8(OpSet), 7, len(body), body[:4]), more(7, body[4:])...))
	f.Add(append(cut(kindRequest, uint8(OpSet), 7, len(body), body[:4]), whole(kindCancel, 0, 7, "")...))
	f.Fuzz(func(t *testing.T, sent []byte) {
		host, done := served(t, anyone{})
		go discard(host.UnixConn)
		_, _ = host.Write(sent) // fails where the driver has had enough
		must(t, host.CloseWrite())
		await(t, done) // with nil or an error
		_ = host.Close()
	})
}

func discard(from net.Conn) {
	for b := make([]byte, 1<<16); ; {
		if _, err := from.Read(b); err != nil {
			return
		}
	}
}

// anyone makes calls in every manner, and some of them wait for their end.
type anyone struct{}

func (anyone) Manner(store uint64, _ Op) Manner { return Manner(store % 3) }

func (h anyone) Handle(ctx context.Context, r *Request) (a Answer) {
	if strings.HasPrefix(r.Key, "waits") && h.Manner(r.Store, r.Op) != Inline {
		<-ctx.Done()
		a.Fail(ctx.Err())
		return a
	}
	a.Say(r.TTL == 0)
	a.Value = r.Value
	return a
}

func (h anyone) Together(ctx context.Context, rs []*Request) []Answer {
	answers := make([]Answer, len(rs))
	for i, r := range rs {
		answers[i] = h.Handle(ctx, r)
	}
	return answers
}
