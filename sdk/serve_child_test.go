//go:build unix

package sdk_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/internal/wire/driverpb"
	"github.com/cachewright/cachewright/sdk"
)

// childKey makes this test binary a driver: of what kind, its value says.
const childKey = "CACHEWRIGHT_SDK_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childKey) {
	case "":
		os.Exit(m.Run())
	case "broken":
		sdk.Serve(sdk.Driver{Name: "broken"})
	case "noisy":
		fmt.Print("half a line of noise")
		fallthrough
	default:
		sdk.Serve(sdk.Define("probe", "1.0.0", openProbe))
	}
}

// A probe is a store that tells and does what its keys ask for.
type probe struct {
	store
	marker string
}

func openProbe(ctx context.Context, o struct {
	Marker string    `option:"marker,path" doc:"a file that Close writes"`
	Max    sdk.Bytes `option:"max" default:"1KiB"`
	Mode   string    `option:"mode,required" enum:"plain,odd"`
	Word   string    `option:"word,secret"`
}) (*probe, error) {
	return &probe{store: store{options: options{MaxValue: o.Max}}, marker: o.Marker}, nil
}

func (p *probe) Get(ctx context.Context, key string) ([]byte, bool, error) {
	switch key {
	case "environment":
		return []byte(strings.Join(os.Environ(), "\n")), true, nil
	case "grandchild":
		cmd := exec.Command("sleep", "1000")
		err := cmd.Start()
		return []byte(strconv.Itoa(cmd.Process.Pid)), true, err
	case "descriptors of a grandchild":
		out, err := exec.Command("ls", "-l", "/proc/self/fd").Output()
		return out, true, err
	case "block":
		fmt.Fprintln(os.Stderr, "blocking")
		<-ctx.Done()
		return nil, false, ctx.Err()
	}
	if path, ok := strings.CutPrefix(key, "await "); ok {
		fmt.Fprintln(os.Stderr, "awaiting")
		for !exists(path) && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		return nil, true, ctx.Err()
	}
	return p.store.Get(ctx, key)
}

func (p *probe) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if key == "print" {
		fmt.Println("printed on stdout")
		os.Stdout.WriteString("written to stdout\n")
		fmt.Fprintln(os.Stderr, "printed on stderr")
	}
	return p.store.Set(ctx, key, value, ttl)
}

func (p *probe) Close() error {
	if p.marker == "" {
		return nil
	}
	return os.WriteFile(p.marker, []byte("closed"), 0o600)
}

// command is a child before it starts: this binary, with an environment of its
// own.
func command(kind string, environment ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(environment, childKey+"="+kind, "PATH="+os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0")
	return cmd
}

// A child is a driver process that a go-plugin client runs.
type child struct {
	*process
	client *plugin.Client
	rpc    driverpb.DriverClient
}

// start starts a driver with go-plugin's own client and certificates.
func start(t *testing.T, cmd *exec.Cmd) *child {
	t.Helper()
	p := &process{t: t, cmd: cmd, nonce: wire.NewNonce(), exited: make(chan struct{})}
	dir, err := os.MkdirTemp("", "sdk") // and not t.TempDir, which may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  wire.PluginVersion,
			MagicCookieKey:   wire.CookieKey,
			MagicCookieValue: wire.CookieValue,
		},
		Plugins:          plugin.PluginSet{"driver": connPlugin{}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: dir},
		Logger:           hclog.New(&hclog.LoggerOptions{Level: hclog.Off}),
		RunnerFunc: func(_ hclog.Logger, template *exec.Cmd, _ string) (runner.Runner, error) {
			p.cmd.Env = append(p.cmd.Env, template.Env...)
			return p, nil
		},
	})
	t.Cleanup(client.Kill)
	protocol, err := client.Client()
	if err != nil {
		t.Fatalf("%v\n%s", err, p.stderr.String())
	}
	cc, err := protocol.Dispense("driver")
	if err != nil {
		t.Fatal(err)
	}
	return &child{p, client, driverpb.NewDriverClient(cc.(*grpc.ClientConn))}
}

// open opens a store and returns its number.
func (c *child) open(options string) uint64 {
	c.t.Helper()
	opened, err := c.rpc.Open(c.t.Context(), &driverpb.OpenRequest{Name: "s", Protocol: 1, Options: []byte(options)})
	if err != nil {
		c.t.Fatalf("%v\n%s", err, c.stderr.String())
	}
	return opened.Store
}

func (c *child) get(number uint64, key string) string {
	c.t.Helper()
	got, err := c.rpc.Get(c.t.Context(), &driverpb.KeyRequest{Store: number, Key: key})
	if err != nil {
		c.t.Fatal(err)
	}
	return string(got.Value)
}

func (c *child) set(number uint64, key, value string) {
	c.t.Helper()
	if _, err := c.rpc.Set(c.t.Context(), &driverpb.SetRequest{Store: number, Key: key, Value: []byte(value)}); err != nil {
		c.t.Fatal(err)
	}
}

// connPlugin hands out go-plugin's connection.
type connPlugin struct{ plugin.NetRPCUnsupportedPlugin }

func (connPlugin) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return errors.New("unused") }

func (connPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, cc *grpc.ClientConn) (any, error) {
	return cc, nil
}

// A process is go-plugin's way to a child, with a lifeline on stdin.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	nonce    string
	lifeline *os.File
	stdout   *io.PipeReader // lines that aren't blank
	stderr   output
	hearing  *os.File // the end of stderr that is read
	exited   chan struct{}
	err      error // how it ended
}

func (p *process) Start(context.Context) error {
	stdin, lifeline, err := os.Pipe()
	if err != nil {
		return err
	}
	stdout, theirStdout, err := os.Pipe()
	if err != nil {
		return err
	}
	stderr, theirStderr, err := os.Pipe()
	if err != nil {
		return err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, theirStdout, theirStderr
	if err := p.cmd.Start(); err != nil {
		return err
	}
	for _, theirs := range []*os.File{stdin, theirStdout, theirStderr} {
		theirs.Close()
	}
	p.lifeline, p.hearing = lifeline, stderr
	lines, w := io.Pipe()
	p.stdout = lines
	go func() { w.CloseWithError(copyLines(w, stdout)) }()
	go io.Copy(&p.stderr, stderr)
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	_, err = lifeline.WriteString(wire.StdinLine(p.nonce))
	return err
}

// copyLines leaves out blank lines and what precedes the handshake on its line.
func copyLines(w io.Writer, r io.Reader) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "|grpc|") {
			if _, err := fmt.Fprintln(w, lines.Text()); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

// end waits until the process has ended, and says how.
func (p *process) end() string {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.String()
	case <-time.After(30 * time.Second):
		p.t.Fatal("the driver does not end")
		return ""
	}
}

func (p *process) Diagnose(context.Context) string { return p.stderr.String() }

func (p *process) Stdout() io.ReadCloser { return p.stdout }

func (p *process) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

func (p *process) Name() string { return "probe" }

func (p *process) Wait(context.Context) error {
	<-p.exited
	return p.err
}

func (p *process) Kill(context.Context) error { return p.cmd.Process.Kill() }

func (p *process) ID() string { return strconv.Itoa(p.cmd.Process.Pid) }

func (p *process) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

func (p *process) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

// output collects what is written to it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits until text is there.
func (o *output) await(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(o.String(), text); {
		if time.Now().After(deadline) {
			t.Fatalf("%q does not appear in\n%s", text, o)
		}
		time.Sleep(time.Millisecond)
	}
}

// marker is a file that a store writes when it closes, and the option that says
// so.
func marker(t *testing.T) (path, options string) {
	path = filepath.Join(t.TempDir(), "marker")
	return path, fmt.Sprintf(`{"mode": "plain", "marker": %q}`, path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// someCertificate is one whose key nobody has.
const someCertificate = `-----BEGIN CERTIFICATE-----
MIIBfjCCASWgAwIBAgIUUiNgLnFZXZ9p6dQ47ImH4ux5o4IwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyOTE4NDc0OFoYDzIxMjYxMTA1
MTg0NzQ4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQAzCSQ9tpltGcnxr7PtDKUY/BNB2Q6eLLPMz1wx9onVwfiKbEmO+Ag
R1VJ0EkR5TIMrXpkNP1L/oV5IHR9ZAioo1MwUTAdBgNVHQ4EFgQUcWBOnDIKMO3d
3H79tOzemc0JsJEwHwYDVR0jBBgwFoAUcWBOnDIKMO3d3H79tOzemc0JsJEwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiBWblhJxAjGx8v5rl6Nu7bn
fNa9E9TJ3QoWA1PS28hfSgIgPJa7oj9uNOdW6beoZ3WLyAK/FRIv/k2FqsxI1OHl
/xw=
-----END CERTIFICATE-----
`
