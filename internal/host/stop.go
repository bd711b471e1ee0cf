package host

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// lifelineDelay is how long a driver that was asked to shut down keeps its
	// stdin: one that doesn't know the request ends with it.
	lifelineDelay = 500 * time.Millisecond
	// killPatience is how long the host waits for the system to end a process
	// that it has killed.
	killPatience = 2 * time.Second
)

// stop asks the process to end and kills it when ctx is done. It returns when
// the process is gone and everything that belonged to it has been removed; its
// error says that the process had to be killed, or outlived even that.
func (in *instance) stop(ctx context.Context) error {
	shutdown := in.shutdown()
	lifeline := time.AfterFunc(lifelineDelay, in.process.closeLifeline)
	defer lifeline.Stop()
	if !within(ctx, in.process.exited) {
		in.process.kill()
	}
	err := in.clear(ctx, shutdown)
	if err == nil && in.process.wasKilled() {
		err = fmt.Errorf("driver %s (pid %d) did not stop in time and was killed", in.spec.Name, in.process.processID())
	}
	return err
}

// kill ends the process without asking.
func (in *instance) kill(ctx context.Context) error {
	if in.process == nil {
		return in.remove()
	}
	in.process.kill()
	in.process.abandon()
	return in.clear(ctx, in.shutdown())
}

// shutdown runs go-plugin's Kill aside, since it has no bound of its own. It
// sends the driver the request to shut down, and ends go-plugin's goroutines
// once the process has ended.
func (in *instance) shutdown() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		in.client.Kill()
		in.connecting.Wait()
	}()
	return done
}

// clear waits until a process that has ended or was killed is gone, with
// everything that served it, and removes the rest.
func (in *instance) clear(ctx context.Context, shutdown <-chan struct{}) error {
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), killPatience)
	defer cancel()
	var err error
	if !within(patience, in.process.exited) {
		err = fmt.Errorf("driver %s (pid %d) can't be killed: it hangs in the system", in.spec.Name, in.process.processID())
	}
	within(patience, in.process.done)
	in.dialled.close()
	within(patience, shutdown)
	return errors.Join(err, in.remove())
}

// remove takes away what was made before the process.
func (in *instance) remove() error {
	in.closePlane()
	in.program.close()
	if in.folder == nil {
		return nil
	}
	return in.folder.remove()
}

// within waits for done and reports whether it was closed before ctx ended.
func within(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}
