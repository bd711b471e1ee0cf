//go:build unix

package sdk_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/internal/wire/driverpb"
)

func TestGoPluginStartsAndStopsADriver(t *testing.T) {
	t.Parallel()
	c := start(t, command("probe"))
	described, err := c.rpc.Describe(t.Context(), &driverpb.DescribeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if described.Name != "probe" || described.Nonce != c.nonce || described.BuildId != wire.BuildID() || described.Metadata["pid"] != c.ID() {
		t.Errorf("Describe = %v, nonce %s, pid %s", described, c.nonce, c.ID())
	}
	path, options := marker(t)
	number := c.open(options)
	c.set(number, "k", "v")
	if got := c.get(number, "k"); got != "v" {
		t.Errorf("Get = %q", got)
	}
	protocol, err := c.client.Client()
	if err != nil {
		t.Fatal(err)
	}
	if err := protocol.Ping(); err != nil {
		t.Errorf("Ping = %v", err)
	}
	c.client.Kill()
	if how := c.end(); how != "exit status 0" {
		t.Errorf("it ended with %s, want a graceful end\n%s", how, c.stderr.String())
	}
	if !exists(path) {
		t.Error("the store was not closed")
	}
}

func TestStoppingADriverCutsACallThatNeverEnds(t *testing.T) {
	t.Parallel()
	c := start(t, command("probe"))
	path, options := marker(t)
	number := c.open(options)
	failed := make(chan error, 1)
	go func() {
		_, err := c.rpc.Get(t.Context(), &driverpb.KeyRequest{Store: number, Key: "block"})
		failed <- err
	}()
	c.stderr.await(t, "blocking")
	c.client.Kill()
	if how := c.end(); how != "exit status 0" {
		t.Errorf("it ended with %s, want an end within go-plugin's patience\n%s", how, c.stderr.String())
	}
	if err := <-failed; status.Code(err) != codes.Unavailable && status.Code(err) != codes.Canceled {
		t.Errorf("the call that never ends = %v", err)
	}
	if !exists(path) {
		t.Error("the store was not closed once its call had been cut")
	}
}

func TestStoppingADriverLetsACallEnd(t *testing.T) {
	t.Parallel()
	c := start(t, command("probe"))
	number := c.open(`{"mode": "plain"}`)
	signal := filepath.Join(t.TempDir(), "signal")
	answered := make(chan error, 1)
	go func() {
		_, err := c.rpc.Get(t.Context(), &driverpb.KeyRequest{Store: number, Key: "await " + signal})
		answered <- err
	}()
	c.stderr.await(t, "awaiting")
	go c.client.Kill()
	for stopping := false; !stopping; {
		_, err := c.rpc.Get(t.Context(), &driverpb.KeyRequest{Store: number, Key: "k"})
		stopping = status.Code(err) == codes.FailedPrecondition // closed
	}
	if err := os.WriteFile(signal, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("the call that was running = %v", err)
	}
	if how := c.end(); how != "exit status 0" {
		t.Errorf("it ended with %s\n%s", how, c.stderr.String())
	}
}

func TestADriverEndsWithItsLifeline(t *testing.T) {
	t.Parallel()
	cmd := command("probe")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c := start(t, cmd)
	path, options := marker(t)
	number := c.open(options)
	grandchild, err := strconv.Atoi(c.get(number, "grandchild"))
	if err != nil {
		t.Fatal(err)
	}
	c.lifeline.Close()
	if how := c.end(); how != "signal: killed" {
		t.Errorf("it ended with %s, want the end of its process group", how)
	}
	if !exists(path) {
		t.Error("the store was not closed")
	}
	for deadline := time.Now().Add(30 * time.Second); alive(grandchild); {
		if time.Now().After(deadline) {
			t.Fatal("a grandchild survives")
		}
		time.Sleep(time.Millisecond)
	}
}

// alive reports whether the process runs; one that only waits for its parent to
// look at it does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func TestADriverInAGroupOfOthersEndsAlone(t *testing.T) {
	t.Parallel()
	c := start(t, command("probe"))
	c.lifeline.Close()
	if how := c.end(); how != "exit status 0" {
		t.Errorf("it ended with %s\n%s", how, c.stderr.String())
	}
}

func TestSignalsDoNotEndADriver(t *testing.T) {
	t.Parallel()
	c := start(t, command("probe"))
	for range 3 {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE} {
			if err := c.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.rpc.Describe(t.Context(), &driverpb.DescribeRequest{}); err != nil {
			t.Fatalf("Describe after signals = %v", err)
		}
	}
}

func TestWhatADriverPrintsIsLog(t *testing.T) {
	t.Parallel()
	c := start(t, command("noisy"))
	c.set(c.open(`{"mode": "plain"}`), "print", "")
	for _, text := range []string{"printed on stdout\n", "written to stdout\n", "printed on stderr\n"} {
		c.stderr.await(t, text)
	}
}

func TestADriverOutlivesTheReaderOfItsStderr(t *testing.T) {
	t.Parallel()
	c := start(t, command("probe"))
	number := c.open(`{"mode": "plain"}`)
	c.hearing.Close()
	for range 3 {
		c.set(number, "print", "")
	}
	if _, err := c.rpc.Describe(t.Context(), &driverpb.DescribeRequest{}); err != nil {
		t.Errorf("Describe = %v", err)
	}
}

func TestADriverForgetsThatItIsOne(t *testing.T) {
	t.Parallel()
	c := start(t, command("probe", wire.BuiltinKey+"=probe", "KEPT=yes"))
	environment := c.get(c.open(`{"mode": "plain"}`), "environment")
	for _, name := range []string{wire.CookieKey, wire.BuiltinKey, "PLUGIN_"} {
		if strings.Contains(environment, name) {
			t.Errorf("%s is in the environment:\n%s", name, environment)
		}
	}
	if !strings.Contains(environment, "KEPT=yes") {
		t.Error("other variables are gone")
	}
}

func TestNobodyElseCanTalkToADriver(t *testing.T) {
	t.Parallel()
	// A shell sets the widest umask, which is the process's alone.
	cmd := command("probe")
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `umask 0; exec "$0"`, os.Args[0]}
	c := start(t, cmd)
	address := c.client.ReattachConfig().Addr
	info, err := os.Stat(address.String())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v, %v", info.Mode(), err)
	}
	raw, err := net.Dial("unix", address.String())
	if err != nil {
		t.Fatal(err)
	}
	stranger := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	defer stranger.Close()
	err = stranger.HandshakeContext(t.Context())
	if err == nil {
		_, err = stranger.Read(make([]byte, 1))
	}
	if err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("a client without a certificate got %v", err)
	}
}

func TestADriverDoesNotPassOnWhatItInherited(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can close a range of descriptors")
	}
	cmd := command("probe")
	inherited, err := os.Create(filepath.Join(t.TempDir(), "inherited"))
	if err != nil {
		t.Fatal(err)
	}
	defer inherited.Close()
	cmd.ExtraFiles = []*os.File{inherited, inherited, inherited} // 3, the place of a fast plane, and two more
	c := start(t, cmd)
	descriptors := c.get(c.open(`{"mode": "plain"}`), "descriptors of a grandchild")
	if n := strings.Count(descriptors, inherited.Name()); n != 1 {
		t.Errorf("a grandchild has %d of the three:\n%s", n, descriptors)
	}
}

func TestADriverHasAName(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux lets a process change its name")
	}
	c := start(t, command("probe"))
	name, err := os.ReadFile("/proc/" + c.ID() + "/comm")
	if err != nil || strings.TrimSpace(string(name)) != "cachewright-pro" {
		t.Errorf("the process is called %q, %v", name, err)
	}
}

func TestADriverRefusesToServe(t *testing.T) {
	t.Parallel()
	cookie := wire.CookieKey + "=" + wire.CookieValue
	greeting := wire.StdinLine("nonce")
	for name, tc := range map[string]struct {
		kind        string
		stdin       string
		open        bool // stdin stays open
		environment []string
		want        string
	}{
		"to nobody":                     {"probe", "", false, []string{cookie}, "stdin brought no greeting of a host"},
		"to silence":                    {"probe", "", true, []string{cookie}, "no greeting of a host on stdin within 2s"},
		"to half a greeting":            {"probe", "cachewright x", false, []string{cookie}, "stdin brought no greeting of a host"},
		"to a stranger":                 {"probe", "hello\n", true, []string{cookie}, "not a host's greeting"},
		"to endless talk":               {"probe", strings.Repeat("x", 5000), true, []string{cookie}, "stdin brought no greeting of a host"},
		"without TLS":                   {"probe", greeting, true, []string{cookie}, "the host gave no certificate in PLUGIN_CLIENT_CERT"},
		"to an unreadable certificate":  {"probe", greeting, true, []string{cookie, "PLUGIN_CLIENT_CERT=x"}, "PLUGIN_CLIENT_CERT holds no certificate in PEM"},
		"without a folder":              {"probe", greeting, true, []string{cookie, "PLUGIN_CLIENT_CERT=" + someCertificate}, "no folder for the socket in PLUGIN_UNIX_SOCKET_DIR"},
		"in a folder that is too far":   {"probe", greeting, true, []string{cookie, "PLUGIN_CLIENT_CERT=" + someCertificate, "PLUGIN_UNIX_SOCKET_DIR=/" + strings.Repeat("x", 120)}, "the host needs a shorter temporary folder"},
		"in a folder that is not there": {"probe", greeting, true, []string{cookie, "PLUGIN_CLIENT_CERT=" + someCertificate, "PLUGIN_UNIX_SOCKET_DIR=/nowhere"}, "/nowhere"},
		"what is no driver":             {"broken", greeting, true, []string{cookie}, "a driver is made by sdk.Define"},
		"what is no driver, by hand":    {"broken", "", false, nil, "a driver is made by sdk.Define"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdin, lifeline, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer lifeline.Close()
			lifeline.WriteString(tc.stdin)
			if !tc.open {
				lifeline.Close()
			}
			cmd := command(tc.kind, tc.environment...)
			cmd.Stdin = stdin
			out, err := cmd.CombinedOutput()
			stdin.Close()
			exit, _ := errors.AsType[*exec.ExitError](err)
			if exit == nil || exit.ExitCode() != 1 || !strings.Contains(string(out), tc.want) {
				t.Errorf("it ended with %v and said\n%s\nwant %q", err, out, tc.want)
			}
			if strings.Contains(string(out), "|grpc|") {
				t.Error("it printed a handshake")
			}
		})
	}
}

func TestADriverStartedByHandSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args   []string
		status int
		want   []string
	}{
		"without arguments": {nil, 2, []string{
			"probe 1.0.0 is a Cachewright driver",
			"probe: {run: command, command: [" + filepath.Dir(os.Args[0]),
			"{driver: probe, mode: …}",
			"marker  path    optional      a file that Close writes",
			"max     bytes   default 1KiB",
			"mode    string  required      one of plain, odd",
			"word    string  optional      secret",
		}},
		"with --help":    {[]string{"--help"}, 0, []string{"Options of a store"}},
		"with --version": {[]string{"--version"}, 0, []string{"probe 1.0.0\n"}},
		"with nonsense":  {[]string{"--serve"}, 2, []string{"Options of a store"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command("probe")
			cmd.Args = append(cmd.Args, tc.args...)
			out, err := cmd.Output()
			if status := cmd.ProcessState.ExitCode(); status != tc.status {
				t.Errorf("exit status %d, %v, want %d", status, err, tc.status)
			}
			for _, want := range tc.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("%q is missing in\n%s", want, out)
				}
			}
		})
	}
}
