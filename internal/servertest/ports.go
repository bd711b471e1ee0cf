package servertest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// busOffset is the distance from a Redis Cluster node's port to its bus, in
// every version.
const busOffset = 10_000

// A port is a TCP port of 127.0.0.1 that is this test's own. It lies below the
// range that outgoing connections are given, so that none of them can take it
// while its server is down. A UDP socket on the same number keeps other test
// processes off it; the operating system lets go of it should this one die.
type port struct {
	number int
	guards []net.PacketConn
}

// takePort takes a port, with its bus if wanted.
func takePort(t testing.TB, bus bool) *port {
	t.Helper()
	for range 1000 {
		p := &port{number: 15_000 + rand.IntN(7_000)}
		if p.guard(p.number) && (!bus || p.guard(p.number+busOffset)) {
			return p
		}
		p.release()
	}
	t.Fatal("servertest: no free port between 15000 and 22000 on 127.0.0.1")
	return nil
}

func (p *port) guard(number int) bool {
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(number))
	guard, err := net.ListenPacket("udp", addr)
	if err != nil {
		return false
	}
	p.guards = append(p.guards, guard)
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

func (p *port) release() {
	for _, guard := range p.guards {
		guard.Close()
	}
	p.guards = nil
}

func (p *port) addr() string { return fmt.Sprintf("127.0.0.1:%d", p.number) }
