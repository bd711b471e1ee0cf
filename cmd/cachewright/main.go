// Command cachewright reads, writes and watches the stores of a configuration.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/cachewright/cachewright/drivers/builtin"
)

func main() {
	builtin.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
