package servertest

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// A Proxy stands between a client and a server and breaks what passes, on the
// test's word. At first it breaks nothing. What is set holds for connections
// that exist and for those to come, until Heal.
type Proxy struct {
	network, target string
	address         string

	mu       sync.Mutex
	listener net.Listener
	links    map[*link]bool
	weather  weather
	changed  chan struct{} // closed and replaced whenever the weather changes

	running sync.WaitGroup
}

// The weather is what the network is like.
type weather struct {
	latency   time.Duration
	bandwidth int
	stalled   bool
	traps     []*Trap
}

// StartProxy starts a proxy for a server at target, which need not run yet.
// The network is tcp or unix, on both sides; a proxy of a unix socket has a
// socket with the same base name, in a folder of its own. It ends with t.
func StartProxy(t testing.TB, network, target string) *Proxy {
	t.Helper()
	p := &Proxy{network: network, target: target, links: make(map[*link]bool), changed: make(chan struct{})}
	p.address = proxyAddress(t, network, target)
	if err := p.listen(); err != nil {
		t.Fatalf("servertest: proxy of %s: %v", target, err)
	}
	t.Cleanup(func() {
		p.Refuse()
		p.running.Wait()
	})
	return p
}

func proxyAddress(t testing.TB, network, target string) string {
	t.Helper()
	if network != "unix" {
		port := takePort(t, false)
		t.Cleanup(port.release)
		return port.addr()
	}
	dir := testHome(t).folder(t, "proxy")
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, filepath.Base(target))
}

// Addr returns where the proxy listens: host:port, or the path of a socket.
func (p *Proxy) Addr() string { return p.address }

// Latency delays every reply by d.
func (p *Proxy) Latency(d time.Duration) {
	p.change(func(w *weather) { w.latency = d })
}

// Bandwidth bounds each direction of each connection.
func (p *Proxy) Bandwidth(bytesPerSecond int) {
	p.change(func(w *weather) { w.bandwidth = bytesPerSecond })
}

// Stall lets nothing pass and closes nothing, as a network does that loses
// every packet. New connections are accepted. Heal delivers what was held.
func (p *Proxy) Stall() {
	p.change(func(w *weather) { w.stalled = true })
}

// CutReplies lets the server receive and execute requests that contain match,
// of any kind if it is empty, but lets only the first pass bytes of the reply
// through: then the connection is reset. Whatever else a client has sent on
// the connection by then is executed too when the client sees the cut.
//
// A reply is what the server sends after the matching bytes have reached the
// proxy. To cut the reply to one command, match what only it contains.
func (p *Proxy) CutReplies(match string, pass int) *Trap {
	return p.set(&Trap{match: []byte(match), pass: pass})
}

// CutNextReply is CutReplies for one reply only.
func (p *Proxy) CutNextReply(match string, pass int) *Trap {
	return p.set(&Trap{match: []byte(match), pass: pass, once: true})
}

// HoldReplies lets the server receive and execute requests that contain match
// and keeps the replies until Heal; the connections stay open.
func (p *Proxy) HoldReplies(match string) *Trap {
	return p.set(&Trap{match: []byte(match), hold: true})
}

// Reset resets every connection, once; new ones are served.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
	clear(p.links)
}

// Refuse resets every connection and refuses new ones until Heal.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	listener := p.listener
	p.listener = nil
	p.mu.Unlock()
	if listener != nil {
		listener.Close()
	}
	p.Reset()
}

// Heal ends all of it.
func (p *Proxy) Heal(t testing.TB) {
	t.Helper()
	p.change(func(w *weather) { *w = weather{} })
	if err := p.listen(); err != nil {
		t.Fatalf("servertest: proxy of %s: %v", p.target, err)
	}
}

// Connections returns how many are open now.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

func (p *Proxy) set(trap *Trap) *Trap {
	trap.sprung = make(chan struct{})
	p.change(func(w *weather) { w.traps = append(w.traps, trap) })
	return trap
}

func (p *Proxy) change(to func(*weather)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.weather
	w.traps = append([]*Trap(nil), w.traps...)
	to(&w)
	p.weather = w
	close(p.changed)
	p.changed = make(chan struct{})
}

// now returns the weather, and a channel that is closed when it changes.
func (p *Proxy) now() (weather, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.weather, p.changed
}

func (p *Proxy) listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		return nil
	}
	listener, err := net.Listen(p.network, p.address)
	if err != nil {
		return err
	}
	p.listener = listener
	p.running.Go(func() { p.accept(listener) })
	return nil
}

func (p *Proxy) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(listener, client) })
	}
}

func (p *Proxy) serve(from net.Listener, client net.Conn) {
	server, err := net.DialTimeout(p.network, p.target, startLimit)
	if err != nil {
		abort(client)
		return
	}
	l := newLink(p, client, server)
	if !p.add(from, l) {
		l.reset()
		return
	}
	l.run()
	p.remove(l)
}

// add refuses a connection that was accepted before Refuse.
func (p *Proxy) add(from net.Listener, l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != from {
		return false
	}
	p.links[l] = true
	return true
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}
