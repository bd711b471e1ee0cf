package sdk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"google.golang.org/grpc"

	"github.com/cachewright/cachewright/internal/wire"
)

// Serve is the whole main of a driver, and never returns. A host starts the
// program; anybody else is told on stdout what it is. It ends when its host
// says so or is gone, with its stores closed.
//
// Serve takes the process over. Stdin belongs to the host. What the driver
// prints on stdout goes to stderr, and the host's log has it. SIGINT, SIGTERM
// and SIGHUP do nothing, since they may reach a host's whole process group
// while the host still has calls to finish. A mistake in the definition of d is
// reported on stderr, and the exit status is 1.
func Serve(d Driver) {
	os.Exit(run(d))
}

func run(d Driver) (status int) {
	err := d.Err()
	if err == nil && os.Getenv(wire.CookieKey) != wire.CookieValue {
		return introduce(os.Stdout, d, os.Args)
	}
	if err == nil {
		err = serve(d)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "driver %s: %v\n", d.Name, err)
		return 1
	}
	return 0
}

// ServeListener serves d on l, without encryption, until ctx ends; then it
// closes the stores, within a bound, and returns nil. It is for tests, and for
// a driver that runs by itself and that a host attaches to: whoever can connect
// to l can use the driver.
func ServeListener(ctx context.Context, d Driver, l net.Listener) error {
	if err := d.Err(); err != nil {
		return errors.Join(err, l.Close())
	}
	s := newServer(d, "")
	served := make(chan error, 1)
	go func() { served <- s.rpc.Serve(l) }()
	select {
	case err := <-served:
		return errors.Join(err, s.stop())
	case <-ctx.Done():
	}
	err := s.stop()
	<-served
	return err
}

// serve runs d for the host that started this process.
func serve(d Driver) error {
	defer runtime.KeepAlive(newBallast())
	host := takeEnvironment()
	stdout, err := takeProcess(d.Name)
	if err != nil {
		return err
	}
	defer stdout.Close() // not before: a host may take its end for the driver's
	line := newLifeline(os.Stdin)
	nonce, err := line.greeting()
	if err != nil {
		return err
	}
	credentials, certificate, err := host.credentials()
	if err != nil {
		return err
	}
	l, err := host.listen()
	if err != nil {
		return err
	}
	s := newServer(d, nonce, grpc.Creds(credentials))
	s.cores = newCoreShare()
	shutdown := registerController(s)
	s.startPlane(host.plane)
	served := make(chan error, 1)
	go func() { served <- s.rpc.Serve(l) }()
	if err := announce(stdout, l.Addr(), certificate); err != nil {
		return errors.Join(err, s.stop())
	}

	select {
	case err = <-served:
		return errors.Join(err, s.stop())
	case <-shutdown:
		return s.stop()
	case <-line.cut:
		err := s.stop()
		endGroup()
		return err
	}
}
