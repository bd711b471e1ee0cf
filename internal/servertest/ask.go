package servertest

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"
)

// ask sends one line to a server, through TLS if secure isn't nil, and returns
// the first line of the answer: enough of Redis's and Memcached's protocols to
// know that they serve.
func ask(network, address string, secure *tls.Config, question string) (string, error) {
	conn, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if secure != nil {
		conn = tls.Client(conn, secure)
	}
	conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := fmt.Fprintf(conn, "%s\r\n", question); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line), err
}
