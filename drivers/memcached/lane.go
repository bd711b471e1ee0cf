package memcached

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

// itemOverhead is what the server adds to key and value of an item: its own
// head, a counter for cas, and three bytes that end them.
const itemOverhead = 48 + 8 + 3

// An order is what to say to a server. Its run gets a lane that is connected;
// nothing that it shares with the caller may be used after the caller left.
type order struct {
	repeat repeat
	size   int // of the item that it sends, key and value; 0: none
	room   int // how much of an answer is wanted at once; 0: all
	run    func(*lane) (answer any, err error)
}

// A lane is a gomemcache client with one connection to one server. One worker
// at a time uses it.
type lane struct {
	server *server
	client *memcache.Client
	link   *link // nil: not connected
	handed bool  // the client has the link

	in  *bufio.Reader // of the link, for what gomemcache doesn't do
	out *bufio.Writer

	tasks chan task // for the worker while the lane is idle; closed to end it
}

func newLane(s *server) *lane {
	l := &lane{server: s, client: memcache.NewFromSelector(only{s.at}), tasks: make(chan task, 1)}
	l.in, l.out = bufio.NewReaderSize(nil, 4<<10), bufio.NewWriterSize(nil, 16<<10)
	l.client.MaxIdleConns = 1
	l.client.DialContext = l.hand
	return l
}

// only is the memcache.ServerSelector of a lane: which server a key belongs to
// has been decided.
type only struct{ address }

func (o only) PickServer(string) (net.Addr, error) { return o, nil }
func (o only) Each(do func(net.Addr) error) error  { return do(o) }
func (o only) Network() string                     { return o.network }
func (o only) String() string                      { return o.name }

// hand gives the client the connection that has been made for it.
func (l *lane) hand(context.Context, string, string) (net.Conn, error) {
	if l.link == nil || l.handed {
		return nil, errors.New("there is no connection")
	}
	l.handed = true
	return l.link, nil
}

// exchange carries out an order for somebody who may leave. An answer may come
// with an error, as far as it was read.
func (l *lane) exchange(o *order, f *fate) (answer any, err error) {
	if err := l.ready(); err != nil {
		return nil, err
	}
	if f != nil && f.hasLeft() {
		return nil, errLeft
	}
	if o.size > 0 && !l.fits(o.size) {
		return nil, l.server.tooLarge(o.size + itemOverhead)
	}
	l.link.begin(o.room, f)
	answer, err = o.run(l)
	return answer, l.settle(o, err)
}

// ready connects, unless there is a connection that stands.
func (l *lane) ready() error {
	if l.link != nil && l.link.stands() {
		return nil
	}
	l.drop()
	made, err := l.server.connect()
	if err != nil {
		return err
	}
	l.link, l.handed = made, false
	return nil
}

// settle says what an exchange's error means, and drops a connection that
// can't be trusted any more.
func (l *lane) settle(o *order, err error) error {
	k := l.link
	k.used = time.Now()
	if isAnswer(err) {
		return err
	}
	l.drop()
	line, refused := refusal(k.head)
	switch {
	case k.refused:
		return errLeft
	case k.overfull():
		return errSurfeit
	case refused && k.broken == nil:
		return l.server.refuses(line, o.size+itemOverhead)
	}
	return l.lost(k)
}

// lost words why there is no answer, and notes a server that is silent.
func (l *lane) lost(k *link) error {
	cause := k.broken
	switch {
	case cause == nil:
		cause = errNonsense
	case k.stalled():
		cause = fmt.Errorf("no answer for %v", k.patience())
		l.server.fail(k.epoch, cause)
	}
	return &lostError{server: l.server.at.name, cause: cause, sent: k.hasSent}
}

// fits tells whether the server takes an item of that size.
func (l *lane) fits(size int) bool {
	limit := l.server.limit.Load()
	return limit <= 0 || int64(size+itemOverhead) <= limit
}

// drop closes the connection.
func (l *lane) drop() {
	if l.link == nil {
		return
	}
	l.client.Close() // the same connection, if it has it
	l.link.Close()
	l.link = nil
}
