package host

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// A process is one run of a driver's program. go-plugin starts it as its
// runner; everything after that is decided here: the process has descriptors
// of its own and no copying goroutines, so that its end is seen at once, even
// if something it left behind still holds its pipes.
type process struct {
	program  *program
	env      []string // complete once go-plugin has added its part
	greeting string   // the first line on stdin
	plane    *os.File // becomes descriptor 3; nil for none
	log      *slog.Logger
	output   *driverLog

	handshake *io.PipeReader // go-plugin reads the handshake line here
	announce  *io.PipeWriter

	exited chan struct{} // closed when the process has ended, or never will run
	done   chan struct{} // closed when its output has been read too

	mu       sync.Mutex
	phase    phase
	doomed   bool   // killed, or to be killed as soon as it runs
	answer   string // the handshake line that it has printed
	pid      int
	status   string   // how it ended
	lifeline *os.File // the host's end of stdin; the driver ends when it closes
}

type phase int

const (
	phaseFresh phase = iota
	phaseStarting
	phaseRunning
	phaseEnded
)

// outputGrace is how long the output of an ended process is read if something
// else keeps it open.
const outputGrace = 50 * time.Millisecond

var errAborted = errors.New("the start was given up")

func newProcess(prog *program, env []string, nonce string, log *slog.Logger) *process {
	p := &process{
		program:  prog,
		env:      append(env, prog.env...),
		greeting: nonce,
		log:      log,
		output:   &driverLog{log: log},
		exited:   make(chan struct{}),
		done:     make(chan struct{}),
	}
	p.handshake, p.announce = io.Pipe()
	return p
}

// start runs the program. It returns when the system has executed it, or says
// why it won't.
func (p *process) start() error {
	defer closeAll(p.plane)
	if p.wasKilled() || !p.advance(phaseFresh, phaseStarting) {
		return errAborted
	}
	pipes, err := openPipes(p.greeting)
	if err == nil {
		started := make(chan error, 1)
		go p.run(pipes, started)
		err = <-started
		pipes.closeChild()
	}
	if err != nil {
		pipes.closeHost()
		p.finish(phaseStarting)
	}
	return err
}

// run starts the process and waits for its end, on one thread: on Linux the
// process dies with the thread that started it.
func (p *process) run(pipes *pipes, started chan<- error) {
	defer lockThread()()
	cmd, err := p.spawn(pipes)
	if err != nil {
		started <- explainExec(p.program.real, err)
		return
	}
	p.running(cmd.Process.Pid, pipes.lifeline)
	var readers sync.WaitGroup
	readers.Go(func() { filterStdout(pipes.stdout, p.announced, p.output.noise) })
	readers.Go(func() { eachLine(pipes.stderr, stderrLineLimit, p.output.stderr) })
	started <- nil

	p.wait(cmd)
	close(p.exited)
	_ = p.announce.Close()     // never fails; whoever sees it sees exited
	_ = pipes.lifeline.Close() // nobody reads it any more
	pipes.hurry(time.Now().Add(outputGrace))
	readers.Wait()
	pipes.closeHost()
	close(p.done)
}

// spawn executes the program. A file that somebody is just writing is tried
// again for a moment.
func (p *process) spawn(pipes *pipes) (*exec.Cmd, error) {
	const attempts = 20
	for attempt := 1; ; attempt++ {
		cmd := &exec.Cmd{
			Path:        p.program.path,
			Args:        p.program.args,
			Env:         p.env,
			Stdin:       pipes.childStdin,
			Stdout:      pipes.childStdout,
			Stderr:      pipes.childStderr,
			SysProcAttr: groupLeader(),
		}
		if p.plane != nil {
			cmd.ExtraFiles = []*os.File{p.plane}
		}
		err := cmd.Start()
		if err == nil || !isBusy(err) || attempt == attempts {
			return cmd, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (p *process) running(pid int, lifeline *os.File) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pid, p.lifeline, p.phase = pid, lifeline, phaseRunning
	p.log = p.log.With("pid", pid)
	p.output.log = p.log
	if p.doomed {
		killGroup(pid)
	}
}

// wait reaps the process and ends what it left behind in its group. After the
// reaping the group's number may belong to somebody else.
func (p *process) wait(cmd *exec.Cmd) {
	awaitExit(cmd.Process.Pid)
	p.mu.Lock()
	killGroup(p.pid)
	p.phase = phaseEnded
	p.mu.Unlock()
	err := cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case cmd.ProcessState != nil:
		p.status = cmd.ProcessState.String()
	default: // somebody else has reaped it
		p.status = "unknown: " + err.Error()
	}
}

// announced hands the handshake line to go-plugin, which reads until the pipe
// ends.
func (p *process) announced(line string) {
	p.mu.Lock()
	p.answer = line
	p.mu.Unlock()
	_, _ = io.WriteString(p.announce, line+"\n") // fails only once the process is gone
}

// kill ends the process and everything in its group at once, or keeps it from
// being started. It doesn't wait.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == phaseEnded {
		return
	}
	p.doomed = true
	if p.phase == phaseRunning {
		killGroup(p.pid)
	}
}

// abandon keeps a process from being started that never was.
func (p *process) abandon() {
	if p.finish(phaseFresh) {
		closeAll(p.plane)
	}
}

// finish ends a process that never ran.
func (p *process) finish(from phase) bool {
	if !p.advance(from, phaseEnded) {
		return false
	}
	close(p.exited)
	_ = p.announce.Close() // never fails
	close(p.done)
	return true
}

func (p *process) advance(from, to phase) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase != from {
		return false
	}
	p.phase = to
	return true
}

// closeLifeline asks the driver to end in the way that every driver knows.
func (p *process) closeLifeline() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lifeline != nil {
		_ = p.lifeline.Close() // a second Close is harmless
	}
}

// ended reports whether the process has ended, and how; the status of one that
// never ran is empty.
func (p *process) ended() (status string, ok bool) {
	select {
	case <-p.exited:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.status, true
	default:
		return "", false
	}
}

// wasKilled reports whether the host wanted the process to end before it did.
func (p *process) wasKilled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.doomed
}

// spokenVersion is the plugin version in the handshake line that was printed.
func (p *process) spokenVersion() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	fields := strings.SplitN(p.answer, "|", 3)
	if len(fields) < 3 {
		return ""
	}
	return fields[1]
}

// silence says what a process that is up has failed to do so far.
func (p *process) silence() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase < phaseRunning {
		return "the system did not get to execute it"
	}
	if p.answer != "" {
		return "it printed its handshake and took no connection"
	}
	return "it printed no handshake on stdout"
}

func (p *process) processID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}
