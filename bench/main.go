// Bench measures Cachewright against what one would use without it, and against
// what it was. docs/benchmarks.md has its results and says how to read them.
//
//	bench run      all contests, into docs/benchmarks.md and baseline.json
//	bench growth   how it grows with stores, callers and entries
//	bench check    the ratios that are kept, against baseline.json or the floors
//
// It starts everything that it needs, drivers and plugins as copies of itself.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/cachewright/cachewright/bench/internal/pingpong"
	"github.com/cachewright/cachewright/bench/internal/slow"
	"github.com/cachewright/cachewright/bench/internal/unary"
	"github.com/cachewright/cachewright/sdk"
)

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch command, args := os.Args[1], os.Args[2:]; command {
	case "run":
		err = runContests(ctx, args)
	case "growth":
		err = runGrowth(ctx, args)
	case "check":
		err = runCheck(ctx, args)
	case "driver":
		err = serveProfiled(args)
	default:
		play := roles[command]
		if play == nil {
			usage()
		}
		err = play()
	}
	if errors.Is(err, errFailed) { // the last line has said so
		os.Exit(1)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// roles are the contenders that this program starts itself as, by the argument
// that says so.
var roles = map[string]func() error{
	"unary-plugin": func() error { unary.Serve(); return nil },
	"ping-pong":    pingpong.Serve,
	"slow-driver":  func() error { sdk.Serve(slow.Driver); return nil },
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: bench run|growth|check [-h]")
	os.Exit(2)
}
