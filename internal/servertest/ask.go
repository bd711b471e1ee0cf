package servertest

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"time"
)

// ask sends one line to a server and returns the first line of the answer:
// enough of Redis's and Memcached's protocols to know that they serve.
func ask(network, address, question string) (string, error) {
	conn, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := fmt.Fprintf(conn, "%s\r\n", question); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line), err
}
