package lockcheck

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
)

const (
	// parking is how long a holder may take to come inside and stay. The driver
	// may rest for half a minute, if it was killed again and again.
	parking = 2 * time.Minute
	// farewell is how long a worker has to end by itself, and then to say where
	// it hangs.
	farewell = 30 * time.Second
)

// A Worker is a process that contends for locks.
type Worker struct {
	Number int

	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr *tail
	parked chan struct{} // holds one
	gone   chan struct{} // closed when it has ended and all that it told is known
	err    error         // of its end; readable then
}

// startWorker starts a process and hands it its assignment.
func startWorker(cmd *exec.Cmd, a assignment, r *recorder) (*Worker, error) {
	w := &Worker{Number: a.Process, cmd: cmd, stderr: &tail{}, parked: make(chan struct{}, 1), gone: make(chan struct{})}
	if cmd.Stderr == nil {
		cmd.Stderr = w.stderr
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	w.stdin = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start process %d: %w", a.Process, err)
	}
	go func() {
		defer close(w.gone)
		w.listen(stdout, r)
		w.err = cmd.Wait()
		r.died(w.Number, now())
	}()
	line, err := json.Marshal(a)
	if err != nil {
		panic(err) // numbers and texts
	}
	w.say(string(line))
	return w, nil
}

// listen takes what the worker tells until it ends. A line that was cut off by
// its death was never told.
func (w *Worker) listen(out io.Reader, r *recorder) {
	var behind time.Duration
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		switch {
		case e.Is == hello && !oneClock:
			behind = e.Until - e.At
		case e.Is == hello:
		case e.Is == parked:
			select {
			case w.parked <- struct{}{}:
			default:
			}
		default:
			r.take(w.Number, e.moved(behind))
		}
	}
}

// say gives a command. A worker that is dead hears nothing.
func (w *Worker) say(command string) { _, _ = io.WriteString(w.stdin, command+"\n") }

// Park has the worker's next holder stay inside until Go, or until it hears
// that its lock is lost, and returns when it is inside.
func (w *Worker) Park(ctx context.Context) error {
	select {
	case <-w.parked: // one that is gone
	default:
	}
	w.say(commandPark)
	select {
	case <-w.parked:
		return nil
	case <-w.gone:
		return w.end("ended while a holder was to stay inside")
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(parking):
		_ = w.cmd.Process.Signal(syscall.SIGQUIT) // it says where it hangs
		<-w.gone
		return w.end(fmt.Sprintf("did not get the lock within %v", parking))
	}
}

// Go lets the parked holder leave.
func (w *Worker) Go() { w.say(commandGo) }

// KillDriver, FreezeDriver and ThawDriver are for the worker's driver process.
func (w *Worker) KillDriver()   { w.say(commandKill) }
func (w *Worker) FreezeDriver() { w.say(commandFreeze) }
func (w *Worker) ThawDriver()   { w.say(commandThaw) }

// Freeze stops the worker in its tracks; its driver runs on. Thaw ends that.
func (w *Worker) Freeze() { _ = w.cmd.Process.Signal(syscall.SIGSTOP) }
func (w *Worker) Thaw()   { _ = w.cmd.Process.Signal(syscall.SIGCONT) }

// Kill ends the worker without a warning, and waits until it is dead.
func (w *Worker) Kill() {
	_ = w.cmd.Process.Kill()
	<-w.gone
}

// stop lets the worker end by itself. One that hangs says where.
func (w *Worker) stop() error {
	w.Thaw()
	w.ThawDriver()
	_ = w.stdin.Close()
	for _, s := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGKILL} {
		select {
		case <-w.gone:
			if w.err != nil {
				return w.end("failed")
			}
			return nil
		case <-time.After(farewell):
			_ = w.cmd.Process.Signal(s)
		}
	}
	<-w.gone
	return w.end("hung")
}

// end says how a worker that is gone came to its end.
func (w *Worker) end(how string) error {
	return fmt.Errorf("process %d %s: %v\n%s", w.Number, how, w.cmd.ProcessState, w.stderr)
}

// A tail keeps the end of what is written to it.
type tail struct{ text []byte }

const tailSize = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-tailSize):]
	return len(p), nil
}

func (t *tail) String() string { return string(t.text) }
