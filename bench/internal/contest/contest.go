// Package contest lets contenders do the same work in turns, and measures each
// of their turns: calls, latencies, processor time of all processes together,
// and allocations in this one.
package contest

import (
	"context"
	"time"
)

// A Contender is one way to do the work of a contest.
type Contender struct {
	Key   string // names it in ratios: "fast"
	Title string // names it in tables
	Call  func(ctx context.Context, n int) error
	// Timed replaces Call where only a part of what is done counts: it returns
	// how long that took.
	Timed func(ctx context.Context, n int) (time.Duration, error)
	// Each is how many operations a call does, 1 where it is 0. Rates, latencies,
	// processor time and allocations are those of one operation.
	Each int
	// Alone has one goroutine call, however many callers the contest has.
	Alone bool
}

func (c Contender) each() int { return max(c.Each, 1) }

func (c Contender) do(ctx context.Context, n int, begin time.Time) (took time.Duration, err error) {
	if c.Timed != nil {
		return c.Timed(ctx, n)
	}
	err = c.Call(ctx, n)
	return time.Since(begin), err
}

// A Contest is one piece of work, and who does it.
type Contest struct {
	Key        string // "memory/get/100B/64"
	Callers    int
	Pace       time.Duration // a caller begins a call that often; 0: when the last one has ended
	Contenders []Contender
	Baseline   string // the key of the contender that the others are compared with

	// Turn and Rounds replace those of the run where work takes its time.
	Turn   time.Duration
	Rounds int
}

// With is the contest among those contenders that keep wants.
func (c Contest) With(keep func(key string) bool) Contest {
	var kept []Contender
	for _, contender := range c.Contenders {
		if keep(contender.Key) {
			kept = append(kept, contender)
		}
	}
	c.Contenders = kept
	return c
}
