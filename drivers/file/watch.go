package file

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"
)

// WaitLease is sdk.LeaseWaiter's: the file system tells of every change of the
// record. Where it tells nothing, as on a network file system, the waiter
// returns when the lease that it saw is over.
func (s *store) WaitLease(ctx context.Context, r sdk.LeaseRequest) error {
	t := s.leases.trees[r.Strategy]
	n, name := place(r.Key)
	changes, stop, err := s.leases.watch.on(t.folderPath(n), name)
	if err != nil {
		return explain(t.folderPath(n), err)
	}
	defer stop()
	for {
		left, err := s.leaseLeft(t, n, name, r)
		if err != nil || left <= 0 {
			return err
		}
		timer := time.NewTimer(left)
		select {
		case <-changes:
			timer.Stop()
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// leaseLeft is how long the lease of a lock lasts, without asking for its
// folder's lock.
func (s *store) leaseLeft(t *tree, n byte, name string, r sdk.LeaseRequest) (time.Duration, error) {
	f, err := t.open(n)
	if err == unix.ENOENT {
		return 0, nil
	}
	if err != nil {
		return 0, explain(t.folderPath(n), err)
	}
	defer f.close()
	held, err := readRecord(f, name, r.Key)
	return held.remaining(r.Clock, s.leases.now()), explain(t.filePath(n, name), err)
}

// A watch hears of changes in folders, for as long as somebody listens.
type watch struct {
	mu      sync.Mutex // guards below
	events  *fsnotify.Watcher
	done    sync.WaitGroup
	folders map[string]map[*listener]bool
}

// A listener waits for changes of one file.
type listener struct {
	name    string
	changed chan struct{} // holds one
}

func newWatch() *watch { return &watch{folders: make(map[string]map[*listener]bool)} }

// on listens for changes of the file of that name in a folder, until stop. A
// folder that is not there yet is silent.
func (w *watch) on(folder, name string) (changed <-chan struct{}, stop func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.start(); err != nil {
		return nil, nil, err
	}
	if len(w.folders[folder]) == 0 {
		if err := w.events.Add(folder); err != nil {
			return make(chan struct{}), func() {}, nil // without events the waiter looks at its time
		}
		w.folders[folder] = make(map[*listener]bool)
	}
	l := &listener{name, make(chan struct{}, 1)}
	w.folders[folder][l] = true
	return l.changed, func() { w.off(folder, l) }, nil
}

func (w *watch) start() error {
	if w.events != nil {
		return nil
	}
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	w.events = events
	w.done.Go(func() { w.run(events) })
	return nil
}

func (w *watch) off(folder string, l *listener) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.folders[folder], l)
	if len(w.folders[folder]) == 0 {
		delete(w.folders, folder)
		_ = w.events.Remove(folder) // it may be gone with its folder
	}
}

// run hands changes on. An overflow, which loses some, concerns everybody.
func (w *watch) run(events *fsnotify.Watcher) {
	for {
		select {
		case e, open := <-events.Events:
			if !open {
				return
			}
			w.tell(filepath.Dir(e.Name), filepath.Base(e.Name))
		case _, open := <-events.Errors:
			if !open {
				return
			}
			w.tellAll()
		}
	}
}

func (w *watch) tell(folder, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.folders[folder] {
		if l.name == name {
			l.wake()
		}
	}
}

func (w *watch) tellAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, listeners := range w.folders {
		for l := range listeners {
			l.wake()
		}
	}
}

func (l *listener) wake() {
	select {
	case l.changed <- struct{}{}:
	default: // it has been told
	}
}

func (w *watch) close() {
	w.mu.Lock()
	events := w.events
	w.mu.Unlock()
	if events != nil {
		_ = events.Close()
		w.done.Wait()
	}
}
