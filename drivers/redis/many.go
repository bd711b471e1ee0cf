package redis

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// doMany is do for many calls at once: those of one server go out as one
// pipeline, over a connection of its own, and servers work side by side. Result
// i is the error of call i.
func (s *store) doMany(ctx context.Context, calls []call) []error {
	errs := make([]error, len(calls))
	trials := make([]trial, len(calls))
	open := make([]int, len(calls)) // calls that need an attempt
	for i, c := range calls {
		trials[i].call = c
		open[i] = i
	}
	for len(open) > 0 {
		results := s.tryMany(ctx, trials, open)
		var pause time.Duration
		kept := open[:0]
		for j, i := range open {
			r := results[j]
			wait, err := s.weigh(ctx, &trials[i], r.server, r.sent, r.err)
			errs[i] = err
			if err == nil && wait >= 0 {
				kept = append(kept, i)
				pause = max(pause, wait)
			}
		}
		open = kept
		if len(open) == 0 {
			break
		}
		if err := sleep(ctx, pause); err != nil {
			for _, i := range open {
				errs[i] = trials[i].fail(err)
			}
			break
		}
	}
	return errs
}

// A result is what an attempt came to.
type result struct {
	server *server
	sent   bool
	err    error
}

// tryMany makes one attempt with each of the open calls.
func (s *store) tryMany(ctx context.Context, trials []trial, open []int) []result {
	results := make([]result, len(open))
	groups := make(map[*server][]int)
	for j, i := range open {
		t := &trials[i]
		r := &results[j]
		r.server, r.err = s.aim(ctx, t)
		if r.err != nil {
			r.server = s.nowhere
			continue
		}
		groups[r.server] = append(groups[r.server], j)
	}
	var working sync.WaitGroup
	for srv, group := range groups {
		working.Go(func() { tryGroup(ctx, srv, trials, open, group, results) })
	}
	working.Wait()
	return results
}

func tryGroup(ctx context.Context, srv *server, trials []trial, open, group []int, results []result) {
	cmds := make([]redis.Cmder, 0, len(group))
	for _, j := range group {
		cmds = append(cmds, trials[open[j]].commands(ctx)...)
	}
	sent, err := srv.apart(ctx, cmds...)
	for _, j := range group {
		results[j].sent, results[j].err = sent, err
		if err == nil {
			results[j].err = trials[open[j]].cmd.Err()
		}
	}
}
