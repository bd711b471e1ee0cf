package file

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// sweepShare is which part of its time a sweep works; the rest it rests.
	sweepShare = 10
	// settled is how old a folder's time of change must be to tell one state of
	// the folder from the next; file systems count in steps of up to 2 s.
	settled = 3 * time.Second
)

// A sweeper removes expired entries, and what killed writers left behind, while
// its store is open. Several processes may sweep one directory: whoever has
// swept a folder marks it, and the others pass over it for a while.
type sweeper struct {
	entries  *tree
	interval time.Duration
	calm     [folders]calm // used by run alone
	cancel   context.CancelFunc
	done     sync.WaitGroup

	mu   sync.Mutex
	last sweepReport
}

// A calm folder, unchanged since a sweep looked at it, needs no look before its
// first deadline.
type calm struct {
	changed time.Time // the folder's time of change then; zero: never looked
	first   int64     // the earliest deadline, 0: none
}

// A sweepReport is what the operator learns of the sweeping.
type sweepReport struct {
	removed int   // since the store opened
	err     error // of the last round
}

// startSweeper starts to sweep at once and then at every interval; 0: never.
func startSweeper(entries *tree, interval time.Duration) *sweeper {
	ctx, cancel := context.WithCancel(context.Background())
	w := &sweeper{entries: entries, interval: interval, cancel: cancel}
	if interval > 0 {
		w.done.Go(func() { w.run(ctx) })
	}
	return w
}

func (w *sweeper) stop() {
	w.cancel()
	w.done.Wait()
}

func (w *sweeper) report() sweepReport {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

func (w *sweeper) run(ctx context.Context) {
	for {
		err := w.round(ctx)
		w.mu.Lock()
		w.last.err = err
		w.mu.Unlock()
		if pause(ctx, w.interval) != nil {
			return
		}
	}
}

// round sweeps every folder that is due, in an order of its own, so that many
// short-lived processes get round them all. It goes on after a failure, and
// returns the first.
func (w *sweeper) round(ctx context.Context) error {
	numbers, err := w.entries.existing()
	if err != nil {
		return explain(w.entries.path, err)
	}
	rand.Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
	for _, n := range numbers {
		if ctx.Err() != nil {
			return nil
		}
		if sweepErr := w.sweepIfDue(ctx, n); err == nil && ctx.Err() == nil {
			err = explain(w.entries.folderPath(n), sweepErr)
		}
	}
	return err
}

func (w *sweeper) sweepIfDue(ctx context.Context, n byte) error {
	f, err := w.entries.open(n)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.close()
	now := time.Now()
	changed, err := f.changed()
	if err != nil || w.calm[n].until(now, changed) || f.sweptWithin(w.interval*2/3, now) {
		return err
	}
	found, err := w.sweep(ctx, n, f)
	if err != nil {
		return err
	}
	w.calm[n] = calm{}
	if found.removed == 0 && now.Sub(changed) > settled {
		w.calm[n] = calm{changed, found.first}
	}
	f.markSwept()
	return nil
}

// until reports whether a folder that was last changed then has nothing to
// sweep now.
func (c calm) until(now, changed time.Time) bool {
	return !c.changed.IsZero() && c.changed.Equal(changed) && (c.first == 0 || now.UnixMilli() < c.first)
}

// A sweepFind is what sweeping a folder came to.
type sweepFind struct {
	removed int
	first   int64 // the earliest deadline of what stays, 0: none
}

// sweep looks at a folder's files a batch at a time, resting in between.
func (w *sweeper) sweep(ctx context.Context, n byte, f folder) (found sweepFind, err error) {
	err = f.each(batch, func(names []string) error {
		start := time.Now()
		removed, err := w.removeDead(ctx, n, f.dead(names, &found.first))
		found.removed += removed
		w.mu.Lock()
		w.last.removed += removed
		w.mu.Unlock()
		if err != nil {
			return err
		}
		return pause(ctx, time.Since(start)*(sweepShare-1))
	})
	return found, err
}

// dead returns those names that look as if nobody needs them any more, and
// notes the earliest deadline of the others.
func (f folder) dead(names []string, first *int64) []string {
	var dead []string
	for _, name := range names {
		switch deadline, gone := f.judge(name); {
		case gone:
			dead = append(dead, name)
		case deadline != 0 && (*first == 0 || deadline < *first):
			*first = deadline
		}
	}
	return dead
}

// judge says whether a file may be swept. An entry that can't be read is not
// the sweeper's: its readers must learn of it.
func (f folder) judge(name string) (deadline int64, gone bool) {
	if isTemp(name) {
		return 0, true
	}
	if !isEntry(name) {
		return 0, false
	}
	it, err := f.head(name)
	return it.deadline, err == nil && it.expired
}

// removeDead judges the names again under the folder's lock, since they may be
// live entries by now, and removes those that are dead: a file aside has no
// writer if its folder's lock is free.
func (w *sweeper) removeDead(ctx context.Context, n byte, names []string) (removed int, err error) {
	if len(names) == 0 {
		return 0, nil
	}
	err = w.entries.locked(ctx, n, existing, func(l lockedFolder) error {
		for _, name := range names {
			if _, gone := l.judge(name); !gone {
				continue
			}
			switch err := l.remove(name); err {
			case nil:
				removed++
			case unix.ENOENT, unix.EISDIR:
			default:
				return err
			}
		}
		return nil
	})
	return removed, err
}

// changed is when the folder last gained, lost or exchanged a file.
func (f folder) changed() (time.Time, error) {
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return time.Time{}, err
	}
	return time.Unix(st.Mtim.Unix()), nil
}

// The mark of a sweep is the time of change of the lock's file, which nobody
// writes to. A new folder counts as swept.

func (f folder) sweptWithin(d time.Duration, now time.Time) bool {
	var st unix.Stat_t
	if unix.Fstatat(f.fd, lockName, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return false
	}
	age := now.Sub(time.Unix(st.Mtim.Unix()))
	return age >= 0 && age < d
}

func (f folder) markSwept() {
	now := time.Now().UnixNano()
	times := []unix.Timespec{unix.NsecToTimespec(now), unix.NsecToTimespec(now)}
	_ = unix.UtimesNanoAt(f.fd, lockName, times, unix.AT_SYMLINK_NOFOLLOW) // only sweeps more often without
}
