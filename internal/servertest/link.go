package servertest

import (
	"net"
	"slices"
	"sync"
	"time"
)

// drainLimit bounds the wait for a server to execute what it was sent.
const drainLimit = 10 * time.Second

// A link is one client's connection through the proxy.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	scent          scent

	once   sync.Once
	closed chan struct{}

	sending sync.Mutex // held while a request goes out: no cut comes in between

	mu      sync.Mutex
	armed   *Trap
	passed  int  // bytes of the reply that armed is after
	cutting bool // nothing reaches the client any more
}

// A chunk is what one read gave, and when.
type chunk struct {
	data []byte
	at   time.Time
}

func newLink(p *Proxy, client, server net.Conn) *link {
	return &link{proxy: p, client: client, server: server, closed: make(chan struct{})}
}

// run forwards until the server has no more to say or the link is reset.
func (l *link) run() {
	var running sync.WaitGroup
	running.Go(func() {
		l.forward(l.client, l.request)
		l.server.(halfCloser).CloseWrite()
	})
	running.Go(func() {
		l.forward(l.server, l.reply)
		l.close()
	})
	running.Wait()
}

type halfCloser interface{ CloseWrite() error }

// forward hands on what from sends, in order, until that or handle ends it.
// Reading goes on meanwhile, so that latency doesn't cost bandwidth.
func (l *link) forward(from net.Conn, handle func(chunk) bool) {
	chunks := make(chan chunk, 1024)
	enough := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() { l.read(from, chunks, enough) })
	for c := range chunks {
		if !handle(c) {
			break
		}
	}
	close(enough)
	from.SetReadDeadline(time.Now())
	reading.Wait()
}

func (l *link) read(from net.Conn, chunks chan<- chunk, enough <-chan struct{}) {
	defer close(chunks)
	for {
		buffer := make([]byte, 16<<10)
		n, err := from.Read(buffer)
		if n > 0 {
			select {
			case chunks <- chunk{buffer[:n], time.Now()}:
			case <-enough:
				return
			case <-l.closed:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// request arms a trap before the server can answer.
func (l *link) request(c chunk) bool {
	w, ok := l.await(c, 0)
	if !ok {
		return false
	}
	l.sending.Lock()
	defer l.sending.Unlock()
	if trap := l.scent.trap(c.data, w.traps); trap != nil {
		l.arm(trap)
	}
	return l.send(l.server, c.data, w.bandwidth)
}

func (l *link) reply(c chunk) bool {
	w, ok := l.await(c, l.latency())
	if !ok {
		return false
	}
	trap := l.trapped(w)
	switch {
	case trap == nil:
		return l.send(l.client, c.data, w.bandwidth)
	case trap.hold:
		trap.spring()
		return l.hold(trap) && l.send(l.client, c.data, w.bandwidth)
	default:
		return l.cut(trap, c.data, w.bandwidth)
	}
}

func (l *link) arm(trap *Trap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.armed == nil {
		l.armed, l.passed = trap, 0
	}
}

// trapped returns the trap that this reply falls into, if it is still set.
func (l *link) trapped(w weather) *Trap {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(w.traps, l.armed) && !l.cutting {
		l.armed = nil
	}
	return l.armed
}

// hold waits until the trap is gone.
func (l *link) hold(trap *Trap) bool {
	for {
		w, changed := l.proxy.now()
		if !slices.Contains(w.traps, trap) {
			return true
		}
		select {
		case <-changed:
		case <-l.closed:
			return false
		}
	}
}

// cut lets the rest of what may pass through, then tells the server that no
// more requests come. The link is reset once the server has executed all and
// closed the connection; what it says until then is dropped.
func (l *link) cut(trap *Trap, data []byte, bandwidth int) bool {
	l.mu.Lock()
	if l.cutting {
		l.mu.Unlock()
		return true
	}
	n := min(len(data), trap.pass-l.passed)
	l.passed += n
	l.cutting = l.passed == trap.pass
	cutting := l.cutting
	l.mu.Unlock()
	if !l.send(l.client, data[:n], bandwidth) {
		return false
	}
	if cutting {
		trap.spring()
		l.sending.Lock()
		defer l.sending.Unlock()
		l.server.(halfCloser).CloseWrite()
		l.server.SetReadDeadline(time.Now().Add(drainLimit))
	}
	return true
}

func (l *link) latency() time.Duration {
	w, _ := l.proxy.now()
	return w.latency
}

// await returns the weather when the chunk may pass: latency after it came,
// and not while the network is stalled.
func (l *link) await(c chunk, latency time.Duration) (weather, bool) {
	if !l.sleep(time.Until(c.at.Add(latency))) {
		return weather{}, false
	}
	for {
		w, changed := l.proxy.now()
		if !w.stalled {
			return w, true
		}
		select {
		case <-changed:
		case <-l.closed:
			return weather{}, false
		}
	}
}

// send writes data no faster than bandwidth, in pieces of a twentieth second.
func (l *link) send(to net.Conn, data []byte, bandwidth int) bool {
	piece := len(data)
	if bandwidth > 0 {
		piece = max(1, bandwidth/20)
	}
	for len(data) > 0 {
		n, err := to.Write(data[:min(piece, len(data))])
		if err != nil {
			return false
		}
		data = data[n:]
		if bandwidth > 0 && !l.sleep(time.Duration(n)*time.Second/time.Duration(bandwidth)) {
			return false
		}
	}
	return true
}

func (l *link) sleep(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.closed:
		return false
	}
}

// close ends the link, with a reset if the client is to see one.
func (l *link) close() {
	l.mu.Lock()
	cutting := l.cutting
	l.mu.Unlock()
	if cutting {
		l.reset()
		return
	}
	l.once.Do(func() {
		close(l.closed)
		l.client.Close()
		l.server.Close()
	})
}

func (l *link) reset() {
	l.once.Do(func() {
		close(l.closed)
		abort(l.client)
		l.server.Close()
	})
}

// abort closes a connection with a reset, where there is such a thing.
func abort(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}
