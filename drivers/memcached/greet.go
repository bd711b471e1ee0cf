package memcached

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// A welcome is what a server says of itself on each new connection: it may be
// another one than before at the same address.
type welcome struct {
	version  string
	settings map[string]string // empty where the server doesn't tell, as a proxy may not
}

// itemLimit is the largest item that the server takes, 0 if it doesn't tell.
func (w welcome) itemLimit() int64 {
	n, err := strconv.ParseInt(w.settings["item_size_max"], 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// greet makes a connection usable. Its errors never quote the password.
func (s settings) greet(ctx context.Context, conn net.Conn) (welcome, error) {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	w, err := s.introduce(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("connected, but no answer within %v", s.dialTimeout)
	}
	if err != nil {
		return w, err
	}
	if w.settings["cas_enabled"] == "no" {
		return w, fmt.Errorf("%w: the server runs without cas (-C), which everything atomic needs", errors.ErrUnsupported)
	}
	if !stop() {
		return w, ctx.Err() // the connection's deadline is of no use any more
	}
	return w, conn.SetDeadline(time.Time{})
}

func (s settings) introduce(conn io.ReadWriter) (w welcome, err error) {
	r := bufio.NewReader(conn)
	line, err := converse(conn, r, "version\r\n")
	if err == nil && s.username != "" && wantsUser(line) {
		if err := s.authenticate(conn, r); err != nil {
			return w, err
		}
		line, err = converse(conn, r, "version\r\n")
	}
	if err != nil {
		return w, err
	}
	var ok bool
	if w.version, ok = strings.CutPrefix(line, "VERSION "); !ok {
		return w, unwelcome(line)
	}
	w.settings, err = statistics(conn, r, "stats settings")
	return w, err
}

// authenticate sends user and password as the text protocol wants them: as an
// item, whose key counts for nothing. A server that asks nobody would store it:
// only one that wants a user may be told.
func (s settings) authenticate(w io.Writer, r *bufio.Reader) error {
	secret := s.username + " " + s.password
	line, err := converse(w, r, fmt.Sprintf("set auth 0 0 %d\r\n%s\r\n", len(secret), secret))
	if err != nil || line == "STORED" {
		return err
	}
	return errors.New("the server refuses the user and the password: check username and password")
}

func wantsUser(line string) bool { return strings.HasPrefix(line, "CLIENT_ERROR unauth") }

// unwelcome words what a server says instead of its version.
func unwelcome(line string) error {
	if wantsUser(line) {
		return errors.New("the server wants a user and a password: set username and password")
	}
	if isRefusal(line) {
		return fmt.Errorf("the server says %q", line)
	}
	return errors.New("what answers there does not speak memcached's protocol")
}

// converse sends a command and reads a line of the answer.
func converse(w io.Writer, r *bufio.Reader, command string) (string, error) {
	if _, err := io.WriteString(w, command); err != nil {
		return "", err
	}
	line, err := r.ReadSlice('\n')
	return trimLine(line), err
}

// statistics reads names and values up to the END. A server that refuses has
// none.
func statistics(w io.Writer, r *bufio.Reader, command string) (map[string]string, error) {
	line, err := converse(w, r, command+"\r\n")
	found := make(map[string]string)
	for ; err == nil; line, err = converse(w, r, "") {
		if line == "END" || isRefusal(line) {
			return found, nil
		}
		stat, ok := strings.CutPrefix(line, "STAT ")
		if !ok {
			return nil, fmt.Errorf("%s is answered by what is no statistic", command)
		}
		name, value, _ := strings.Cut(stat, " ")
		found[name] = value
	}
	return nil, err
}
