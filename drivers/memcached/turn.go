package memcached

import (
	"context"
	"sync"
)

// turns let one caller of this process at a time change an item by reading and
// swapping, so that it competes with other processes only.
type turns struct {
	mu    sync.Mutex // guards below
	names map[string]*turn
}

type turn struct {
	taken chan struct{} // holds one value while it is
	users int           // with those who wait
}

// enter waits for the name's turn. Whoever entered leaves.
func (t *turns) enter(ctx context.Context, name string) (leave func(), err error) {
	mine := t.join(name)
	select {
	case mine.taken <- struct{}{}:
		return func() {
			<-mine.taken
			t.quit(name, mine)
		}, nil
	case <-ctx.Done():
		t.quit(name, mine)
		return nil, ctx.Err()
	}
}

func (t *turns) join(name string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.names == nil {
		t.names = make(map[string]*turn)
	}
	mine, ok := t.names[name]
	if !ok {
		mine = &turn{taken: make(chan struct{}, 1)}
		t.names[name] = mine
	}
	mine.users++
	return mine
}

func (t *turns) quit(name string, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine.users--
	if mine.users == 0 {
		delete(t.names, name)
	}
}
