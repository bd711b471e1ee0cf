package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/cachewright/cachewright/internal/fastplane"
	"github.com/cachewright/cachewright/internal/wire"
)

// An instance is one started driver process with everything that was made for
// it: its folder, its key pair, go-plugin's client and the connection.
type instance struct {
	spec     Spec
	log      *slog.Logger
	silence  func(says func() string)
	nonce    string
	folder   *folder
	program  *program
	identity *identity
	process  *process
	client   *plugin.Client
	dialled  dialled
	conn     conn
	socket   *net.UnixConn     // of a fast plane that was offered; nil if none was
	plane    *fastplane.Client // nil where the driver doesn't serve it
	desc     Description

	connecting sync.WaitGroup // go-plugin's Client, which may hang
}

// exitGrace is how long a process whose connection broke is given to show how
// it ends.
const exitGrace = 200 * time.Millisecond

// launch makes one attempt to start a driver's process, within ctx. What it
// returns has answered Describe and is the caller's to stop. Its errors are
// *StartError. While it waits for the process, what it gave to silence says for
// what.
func launch(ctx context.Context, spec Spec, log *slog.Logger, silence func(says func() string)) (*instance, error) {
	in := &instance{spec: spec, log: log, nonce: wire.NewNonce(), silence: silence}
	stage, err := in.start(ctx)
	if err == nil {
		return in, nil
	}
	return nil, in.fail(ctx, stage, err)
}

func (in *instance) start(ctx context.Context) (Stage, error) {
	if err := in.prepare(); err != nil {
		return StagePrepare, err
	}
	if err := in.connect(ctx); err != nil {
		if in.process.processID() == 0 {
			return StageExec, err
		}
		return StageHandshake, err
	}
	if err := in.describe(ctx); err != nil {
		return StageDescribe, err
	}
	return StageDescribe, in.takePlane()
}

// prepare makes everything that the process needs, and go-plugin's client,
// which serves for one start only.
func (in *instance) prepare() error {
	if !supported {
		return fmt.Errorf("driver processes are not supported on this system: %w", errors.ErrUnsupported)
	}
	if err := refuseNested(); err != nil {
		return err
	}
	env, err := environment(os.Environ(), in.spec.Env)
	if err != nil {
		return err
	}
	if in.folder, err = newFolder(); err != nil {
		return err
	}
	if in.program, err = locate(in.spec, in.folder.path); err != nil {
		return err
	}
	if in.identity, err = newIdentity(); err != nil {
		return err
	}
	in.process = newProcess(in.program, env, wire.StdinLine(in.nonce), in.log)
	in.offerPlane()
	in.client = plugin.NewClient(in.clientConfig())
	return nil
}

func (in *instance) clientConfig() *plugin.ClientConfig {
	return &plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  wire.PluginVersion,
			MagicCookieKey:   wire.CookieKey,
			MagicCookieValue: wire.CookieValue,
		},
		Plugins:          plugin.PluginSet{pluginName: wirePlugin{}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		RunnerFunc:       in.runner,
		SkipHostEnv:      true,
		TLSConfig:        in.identity.config,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: in.folder.path},
		StartTimeout:     time.Hour, // the context of the start ends sooner
		Logger:           hclog.New(&hclog.LoggerOptions{Level: hclog.Off}),
		SyncStdout:       &lineWriter{line: in.process.output.noise},
		SyncStderr:       &lineWriter{line: in.process.output.stderr},
		GRPCDialOptions:  append(dialOptions(), grpc.WithChainStreamInterceptor(in.dialled.intercept)),
	}
}

// runner gives go-plugin the process, and the process what go-plugin adds to
// the environment. The socket goes into the private folder itself, for the sake
// of a short path, and not into the one that go-plugin has made in there.
func (in *instance) runner(_ hclog.Logger, template *exec.Cmd, unused string) (runner.Runner, error) {
	if err := os.Remove(unused); err != nil {
		return nil, err
	}
	for _, variable := range template.Env {
		if !strings.HasPrefix(variable, plugin.EnvUnixSocketDir+"=") {
			in.process.env = append(in.process.env, variable)
		}
	}
	in.process.env = append(in.process.env,
		plugin.EnvUnixSocketDir+"="+in.folder.path,
		"PLUGIN_CLIENT_CERT="+in.identity.pem)
	return in.process, nil
}

// connect executes the program and connects to it. go-plugin's part can't be
// cancelled, so it runs aside; killing the process makes it return.
func (in *instance) connect(ctx context.Context) error {
	in.silence(in.process.silence)
	connected := make(chan error, 1)
	in.connecting.Go(func() { connected <- in.dial() })
	select {
	case err := <-connected:
		return in.connectError(err)
	case <-ctx.Done():
		in.process.kill()
		return fmt.Errorf("%s: %w", in.process.silence(), context.Cause(ctx))
	}
}

// dial ends with the connection in in.conn.
func (in *instance) dial() error {
	if _, err := in.client.Start(); err != nil {
		return err
	}
	if !in.identity.peerKnown() {
		return errors.New("its handshake carries no TLS certificate (field 6), and the host talks to no driver without one")
	}
	protocol, err := in.client.Client()
	if err != nil {
		return err
	}
	cc, err := protocol.Dispense(pluginName)
	if err != nil {
		return err
	}
	in.conn = newConn(cc.(*grpc.ClientConn))
	return nil
}

// connectError replaces go-plugin's words where there is more to say.
func (in *instance) connectError(err error) error {
	if err == nil || in.process.processID() == 0 {
		return err
	}
	if _, ended := in.process.ended(); ended && !in.process.wasKilled() {
		return errors.New("it ended before the handshake")
	}
	version := in.process.spokenVersion()
	if version != "" && version != strconv.Itoa(wire.PluginVersion) {
		return fmt.Errorf("its handshake has version %s and this host speaks version %d: one of the two has to be updated", version, wire.PluginVersion)
	}
	return err
}

// describe asks the process what it is. A process that doesn't know the nonce
// is not the one that was started.
func (in *instance) describe(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, wire.DescribeTimeout,
		fmt.Errorf("no answer to Describe within %v: %w", wire.DescribeTimeout, context.DeadlineExceeded))
	defer cancel()
	desc, nonce, err := in.conn.describe(ctx)
	if err != nil {
		return endOf(ctx, err)
	}
	in.desc = desc
	return checkIdentity(in.spec, in.program, desc, nonce == in.nonce)
}

// endOf gives the reason for which ctx ended, where that made a call fail.
func endOf(ctx context.Context, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) || !overdue(ctx) && ctx.Err() == nil {
		return err
	}
	<-ctx.Done() // now or in a moment
	return context.Cause(ctx)
}

func checkIdentity(spec Spec, prog *program, desc Description, ours bool) error {
	if !ours {
		return errors.New("whoever answered Describe does not know the word that was written to the stdin of the process: it is another process, or it does not read its stdin")
	}
	if !spec.Builtin {
		return nil
	}
	if desc.Name != spec.Name {
		return fmt.Errorf("the process serves the driver %q", desc.Name)
	}
	if prog.path == prog.real && desc.BuildID != wire.BuildID() {
		return fmt.Errorf("%s has been replaced since this program was started (build %s, now %s): restart the program", prog.real, wire.BuildID(), desc.BuildID)
	}
	return nil
}

// check asks the process for a sign of life.
func (in *instance) check(ctx context.Context) error {
	if err := in.checkPlane(ctx); err != nil {
		return err
	}
	_, nonce, err := in.conn.describe(ctx)
	if err == nil && nonce != in.nonce {
		err = errors.New("another process answers on its socket")
	}
	return err
}

// fail stops what was started and says why it failed. The stop comes first,
// since the last lines are complete only then.
func (in *instance) fail(ctx context.Context, stage Stage, err error) error {
	failure := &StartError{Driver: in.spec.Name, Stage: stage, Err: err}
	if in.process != nil {
		failure.ExitStatus = in.ownEnd(err)
	}
	in.kill(ctx)
	failure.Command = commandText(in.spec, in.program)
	if in.process != nil {
		failure.Stderr = in.process.output.lastLines()
	}
	if in.spec.Builtin && (stage == StageHandshake || stage == StageDescribe && failure.ExitStatus != "") {
		failure.Err = fmt.Errorf("%w%s", err, initHint(in.spec))
	}
	return failure
}

// ownEnd is how the process ended if it did so by itself.
func (in *instance) ownEnd(err error) string {
	if lost := new(transportError); errors.As(err, &lost) {
		select {
		case <-in.process.exited:
		case <-time.After(exitGrace):
		}
	}
	if in.process.wasKilled() {
		return ""
	}
	status, _ := in.process.ended()
	return status
}
