package memcached

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"time"
)

// A rawConn speaks the protocol by hand.
type rawConn struct {
	net.Conn
	r *bufio.Reader
}

func dialRaw(t testing.TB, addr string) *rawConn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return &rawConn{conn, bufio.NewReader(conn)}
}

// says sends a request and returns the first line of the answer; the rest of an
// item is skipped.
func (c *rawConn) says(t testing.TB, request string) string {
	t.Helper()
	_, err := c.Write([]byte(request))
	must(t, err)
	line := c.line(t)
	if strings.HasPrefix(line, "VALUE ") {
		for c.line(t) != "END" {
		}
	}
	return line
}

func (c *rawConn) line(t testing.TB) string {
	t.Helper()
	line, err := c.r.ReadString('\n')
	must(t, err)
	return strings.TrimRight(line, "\r\n")
}
