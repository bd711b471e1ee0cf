package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cachewright/cachewright/bench/internal/contest"
	"github.com/cachewright/cachewright/bench/internal/rig"
	"github.com/cachewright/cachewright/bench/internal/suite"
)

// A bench is the servers and all contenders.
type bench struct {
	rig   *rig.Rig
	suite *suite.Suite
}

// closeLimit bounds the end of all that was started.
const closeLimit = time.Minute

// with opens a bench, runs something with it, and closes it again.
func with(ctx context.Context, options suite.Options, run func(*bench) error) (err error) {
	if options.Program, err = os.Executable(); err != nil {
		return err
	}
	b := &bench{}
	say("starting servers")
	b.rig, err = rig.Start()
	defer func() { err = errors.Join(err, b.rig.Stop()) }()
	if err != nil {
		return err
	}
	say("starting contenders")
	b.suite, err = suite.Open(ctx, b.rig, options)
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
		defer cancel()
		err = errors.Join(err, b.suite.Close(ctx))
	}()
	if err != nil {
		return err
	}
	return run(b)
}

// contests runs contests and says how far it is.
func (b *bench) contests(ctx context.Context, contests []contest.Contest, plan contest.Plan) ([]contest.Result, error) {
	turns := 0
	for _, c := range contests {
		turns += len(c.Contenders)
	}
	say("%d contests, %d contenders, %d rounds", len(contests), turns, plan.Rounds)
	return contest.Run(ctx, contests, plan, func(round int) { say("round %d", round+1) })
}

var begun = time.Now()

// say tells progress; results go elsewhere.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%4.0f s  %s\n", time.Since(begun).Seconds(), fmt.Sprintf(format, args...))
}
