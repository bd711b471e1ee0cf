package database

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// listenRest is how long the listener stays when nobody waits any more, and
	// how often it makes sure that its connection lives.
	listenRest    = 30 * time.Second
	listenAnswer  = 5 * time.Second
	firstListen   = 50 * time.Millisecond // between failed attempts, doubled up to
	longestListen = 5 * time.Second
)

// listen keeps a connection that hears of releases, while there is anybody who
// waits for one.
func (ws *waits) listen() {
	pause := firstListen
	for {
		heard, err := ws.session(ws.store.life)
		ws.setListening(false)
		if err == nil || ws.store.life.Err() != nil || ws.retire() {
			return
		}
		if heard {
			pause = firstListen
		}
		select {
		case <-time.After(pause):
		case <-ws.store.life.Done():
			return
		}
		pause = min(2*pause, longestListen)
	}
}

// session is one connection's life. It ends without an error when nobody has
// waited for a while; the listener is then gone.
func (ws *waits) session(ctx context.Context) (heard bool, err error) {
	connecting, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(connecting, ws.store.settings.listen)
	if err != nil {
		return false, err
	}
	defer bid(conn)
	if _, err := conn.Exec(connecting, "LISTEN "+quoteIdentifier(ws.channel)); err != nil {
		return false, err
	}
	ws.setListening(true)
	for {
		if err := ws.hear(ctx, conn); err != nil || ws.retire() {
			return true, err
		}
	}
}

// hear wakes those whose locks are freed, until the connection is due for a
// sign of life, and asks for one.
func (ws *waits) hear(ctx context.Context, conn *pgx.Conn) error {
	rest, cancel := context.WithTimeout(ctx, listenRest)
	defer cancel()
	for {
		freed, err := conn.WaitForNotification(rest)
		switch {
		case err == nil:
			ws.wake(freed.Payload)
		case ctx.Err() != nil || !pgconn.Timeout(err) && !errors.Is(err, context.DeadlineExceeded):
			return err
		default:
			answer, cancel := context.WithTimeout(ctx, listenAnswer)
			defer cancel()
			return conn.Ping(answer)
		}
	}
}

// retire reports whether nobody waits. The listener must end then, since the
// next waiter starts another.
func (ws *waits) retire() bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if len(ws.waiters) > 0 {
		return false
	}
	ws.running, ws.listening = false, false
	return true
}

// bid closes a connection, within a second.
func bid(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn.Close(ctx)
}
