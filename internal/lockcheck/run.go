package lockcheck

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"time"
)

// A Run has processes contend for locks while faults happen to them.
type Run struct {
	// Worker makes the command of a process that ends up in Work. Its stdin and
	// stdout are the run's.
	Worker    func() *exec.Cmd
	Processes int
	Load      Load
	// Acquisitions is when it is enough, or Time if that is over first and not
	// 0. Every fault happens at least once.
	Acquisitions int
	Time         time.Duration
	// Faults happen one at a time, in any order, with Calm between them.
	Faults []Fault
	Calm   time.Duration
	// Limit ends a run that does not come to its end.
	Limit time.Duration
}

// A Fault is something bad.
type Fault struct {
	Name string
	Do   func(ctx context.Context, c *Crowd) error
}

// A Result is what a run saw.
type Result struct {
	History History
	Losses  []Loss         // of the backend's records, on purpose
	Missed  map[string]int // attempts that did not enter, by the reason
	Trouble map[string]int // releases that failed, by the reason
	Faults  map[string]int // by name
	Took    time.Duration
}

// Do makes the run. Its error names the seed.
func (r Run) Do(ctx context.Context) (Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Limit, fmt.Errorf("not over within %v", r.Limit))
	defer cancel()
	c := &Crowd{
		run: r, random: rand.New(rand.NewPCG(r.Load.Seed, 1)), record: newRecorder(), faults: make(map[string]int), began: now(),
	}
	err := errors.Join(c.contend(ctx), c.stop())
	result, unfinished := c.record.result()
	if err = errors.Join(err, unfinished); err != nil {
		return Result{}, fmt.Errorf("seed %d, after %d acquisitions, the faults %v and the misses %v: %w",
			r.Load.Seed, c.record.count(), c.faults, c.record.misses(), err)
	}
	result.Losses, result.Faults, result.Took = c.losses, c.faults, now()-c.began
	return result, nil
}

// A Crowd is the processes of a run, as faults meet them.
type Crowd struct {
	run     Run
	random  *rand.Rand
	record  *recorder
	workers []*Worker
	started int
	losses  []Loss
	faults  map[string]int
	began   time.Duration
}

func (c *Crowd) contend(ctx context.Context) error {
	for range c.run.Processes {
		if err := c.Start(); err != nil {
			return err
		}
	}
	deck := slices.Clone(c.run.Faults)
	for len(c.run.Faults) > 0 && (len(deck) > 0 || !c.enough()) {
		if len(deck) == 0 {
			deck = slices.Clone(c.run.Faults)
		}
		i := c.random.IntN(len(deck))
		fault := deck[i]
		deck = slices.Delete(deck, i, i+1)
		if err := fault.Do(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", fault.Name, err)
		}
		c.faults[fault.Name]++
		if err := c.watch(ctx, c.run.Calm, func() bool { return false }); err != nil {
			return err
		}
	}
	return c.watch(ctx, 24*time.Hour, c.enough) // ctx ends it before
}

// Start adds a process.
func (c *Crowd) Start() error {
	c.started++
	w, err := startWorker(c.run.Worker(), assignment{c.started, c.run.Load, len(c.run.Faults) == 0}, c.record)
	if err != nil {
		return err
	}
	c.workers = append(c.workers, w)
	return nil
}

// Any is one of the processes.
func (c *Crowd) Any() *Worker { return c.workers[c.random.IntN(len(c.workers))] }

// Holder is a process with a holder inside that stays there until Go.
func (c *Crowd) Holder(ctx context.Context) (*Worker, error) {
	w := c.Any()
	return w, w.Park(ctx)
}

// Replace starts a process for one that was killed.
func (c *Crowd) Replace(w *Worker) error {
	c.workers = slices.DeleteFunc(c.workers, func(other *Worker) bool { return other == w })
	return c.Start()
}

// Lose runs what makes the backend lose its records, and notes when that was.
func (c *Crowd) Lose(f func() error) error {
	from := now()
	err := f()
	c.losses = append(c.losses, Loss{from, now()})
	return err
}

// Wait lets time pass.
func (c *Crowd) Wait(ctx context.Context, d time.Duration) error {
	sleep(ctx, d)
	return context.Cause(ctx)
}

// UpTo draws a duration.
func (c *Crowd) UpTo(most time.Duration) time.Duration {
	return time.Duration(c.random.Int64N(int64(most)))
}

func (c *Crowd) enough() bool {
	return c.record.count() >= c.run.Acquisitions || c.run.Time != 0 && now()-c.began >= c.run.Time
}

// watch waits until something holds, or for a while. No process may end
// meanwhile.
func (c *Crowd) watch(ctx context.Context, d time.Duration, until func() bool) error {
	for end := now() + d; !until() && now() < end; {
		if err := c.Wait(ctx, 5*time.Millisecond); err != nil {
			return err
		}
		for _, w := range c.workers {
			select {
			case <-w.gone:
				return w.end("ended before its time")
			default:
			}
		}
	}
	return nil
}

// stop ends all processes, side by side.
func (c *Crowd) stop() error {
	errs := make(chan error)
	for _, w := range c.workers {
		go func() { errs <- w.stop() }()
	}
	var all error
	for range c.workers {
		all = errors.Join(all, <-errs)
	}
	return all
}
