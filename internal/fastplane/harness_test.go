package fastplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// hangGuard ends what hangs, and measures nothing.
const hangGuard = 30 * time.Second

// TestMain fails where a goroutine of a plane has outlived its test.
func TestMain(m *testing.M) {
	status := m.Run()
	for deadline := time.Now().Add(hangGuard); status == 0; time.Sleep(time.Millisecond) {
		left := stacksOf("fastplane.(*")
		if left == "" {
			break
		}
		if time.Now().After(deadline) {
			fmt.Fprintln(os.Stderr, "goroutines left behind:\n"+left)
			status = 1
		}
	}
	os.Exit(status)
}

// stacksOf returns the stacks of the goroutines that are in code of that name.
func stacksOf(name string) string {
	text := make([]byte, 4<<20)
	text = text[:runtime.Stack(text, true)]
	var found []string
	for stack := range strings.SplitSeq(string(text), "\n\n") {
		if strings.Contains(stack, name) {
			found = append(found, stack)
		}
	}
	return strings.Join(found, "\n\n")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ends makes the two ends of a plane.
func ends(t testing.TB) (host, driver *net.UnixConn) {
	t.Helper()
	host, file, err := Pair()
	must(t, err)
	driver, err = Connect(file)
	must(t, err)
	t.Cleanup(func() { _, _ = host.Close(), driver.Close() })
	return host, driver
}

// A player is an end that the test plays frame by frame.
type player struct {
	*net.UnixConn
	in *inbox
}

func newPlayer(t testing.TB, socket *net.UnixConn) *player {
	t.Helper()
	in, err := newInbox(socket)
	must(t, err)
	return &player{socket, in}
}

// played makes a client whose driver the test plays.
func played(t testing.TB) (*Client, *player) {
	t.Helper()
	host, driver := ends(t)
	c, err := NewClient(host)
	must(t, err)
	t.Cleanup(c.Close)
	must(t, driver.SetDeadline(time.Now().Add(hangGuard)))
	return c, newPlayer(t, driver)
}

// served makes a server whose host the test plays. done tells what Serve
// returned.
func served(t testing.TB, h Handler) (host *player, done <-chan error) {
	t.Helper()
	_, host, done = serving(t, h)
	return host, done
}

// serving is served with the server.
func serving(t testing.TB, h Handler) (s *Server, host *player, done <-chan error) {
	t.Helper()
	socket, driver := ends(t)
	s, err := NewServer(driver, h)
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve() }()
	must(t, socket.SetDeadline(time.Now().Add(hangGuard)))
	return s, newPlayer(t, socket), ended
}

// next reads the next frame, which stays valid until the one after it.
func (w *player) next(t testing.TB) frame {
	t.Helper()
	for {
		f, ok, err := w.in.next()
		must(t, err)
		if ok {
			return f
		}
		if err := w.in.fill(); err != nil {
			t.Fatal("no further frame:", err)
		}
	}
}

func (w *player) write(t testing.TB, frames ...[]byte) {
	t.Helper()
	var all []byte
	for _, f := range frames {
		all = append(all, f...)
	}
	_, err := w.Write(all)
	must(t, err)
}

// whole is a frame with all of a body.
func whole(k kind, code uint8, id uint64, body string) []byte {
	return appendWhole(nil, k, code, id, func(b []byte) []byte { return append(b, body...) })
}

// cut is a frame with the first part of a body.
func cut(k kind, code uint8, id uint64, size int, part string) []byte {
	return append(appendHeader(nil, k, code, id, len(part), size), part...)
}

// more is a frame with a later part.
func more(id uint64, part string) []byte {
	return append(appendHeader(nil, kindMore, 0, id, len(part), len(part)), part...)
}

func request(id uint64, r Request) []byte {
	return whole(kindRequest, uint8(r.Op), id, string(bodyOf(&r)))
}

// A result is how a call ended.
type result struct {
	Answer
	sent bool
	err  error
}

// begin makes a call aside.
func (c *Client) begin(ctx context.Context, r Request) <-chan result {
	ended := make(chan result, 1)
	go func() {
		a, sent, err := c.Call(ctx, &r)
		ended <- result{a, sent, err}
	}()
	return ended
}

// await waits for a result, or whatever else, and gives up only on a hang.
func await[T any](t testing.TB, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(hangGuard):
		t.Fatalf("nothing came; goroutines:\n%s", stacksOf("fastplane."))
	}
	return v
}

// eventually waits for a condition, and gives up only on a hang.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hangGuard); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func isLost(err error) bool {
	_, ok := errors.AsType[*LostError](err)
	return ok
}
