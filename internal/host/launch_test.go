//go:build unix

package host

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
)

// A logBuffer is a log that a test can read while it is written.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// newDriver makes a driver that the test closes, with a quiet log unless the
// spec has one.
func newDriver(t testing.TB, spec Spec) *Driver {
	t.Helper()
	if spec.Logger == nil {
		spec.Logger = slog.New(slog.DiscardHandler)
	}
	d := New(spec)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), hangGuard)
		defer cancel()
		d.Close(ctx)
	})
	return d
}

func openStore(t testing.TB, d *Driver, options map[string]any) *RemoteStore {
	t.Helper()
	r, err := d.Open(guarded(t), "s", options)
	must(t, err)
	return r
}

// guarded is a context that ends only a hang.
func guarded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), hangGuard)
	t.Cleanup(cancel)
	return ctx
}

func TestADriverStartsServesAndStops(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]Spec{
		"as a command":  command(t, "driver"),
		"as a built-in": {Name: "testmem", Builtin: true},
		"noisily":       command(t, "is noisy"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := guarded(t)
			d := newDriver(t, spec)
			if s := d.Status(); s.State != StateStopped || s.PID != 0 {
				t.Errorf("before the first use: %+v", s)
			}
			desc, err := d.Describe(ctx)
			must(t, err)
			if desc.Name != "testmem" || desc.Version != "1.2.3" || desc.Protocol != wire.ProtocolMax || len(desc.Schema) != 3 {
				t.Errorf("described as %+v", desc)
			}
			a, b := openStore(t, d, nil), openStore(t, d, nil)
			must(t, a.Set(ctx, "k", []byte("v"), 0))
			if v, ok, err := a.Get(ctx, "k"); string(v) != "v" || !ok || err != nil {
				t.Errorf("got %q, %v, %v", v, ok, err)
			}
			if _, ok, _ := b.Get(ctx, "k"); ok {
				t.Error("two stores are one")
			}
			s := d.Status()
			if s.State != StateReady || !alive(s.PID) || s.Stores != 2 || s.Restarts != 0 {
				t.Errorf("status %+v", s)
			}
			must(t, a.Close(ctx))
			if _, _, err := a.Get(ctx, "k"); !errors.Is(err, wire.ErrClosed) {
				t.Error(err)
			}
			must(t, d.Close(ctx))
			if alive(s.PID) {
				t.Error("the process outlives Close")
			}
			if _, _, err := b.Get(ctx, "k"); !errors.Is(err, wire.ErrClosed) {
				t.Error(err)
			}
		})
	}
}

func TestBadDriversAreClearErrorsInBoundedTime(t *testing.T) {
	t.Parallel()
	for role, test := range map[string]struct {
		stage  Stage
		status string
		says   []string
		stderr string // one of the last lines
	}{
		"exits at once":                    {StageHandshake, "exit status 3", []string{"ended before the handshake", "exit status 3", "the license file is missing"}, "the license file is missing"},
		"panics":                           {StageHandshake, "exit status 2", []string{"panic: no configuration"}, "panic: no configuration"},
		"prints garbage and waits":         {StageHandshake, "", []string{"start timeout of 1s", "Welcome to ACME!"}, "stdout: usage: acme [flags]"},
		"prints garbage and ends":          {StageHandshake, "exit status 0", []string{"ended before the handshake", "Welcome to ACME!"}, "stdout: Welcome to ACME!"},
		"says nothing":                     {StageHandshake, "", []string{"start timeout of 1s", "no handshake on stdout"}, ""},
		"closes its stdout and waits":      {StageHandshake, "", []string{"start timeout of 1s"}, ""},
		"has no certificate":               {StageHandshake, "", []string{"no TLS certificate"}, ""},
		"has a foreign certificate":        {StageHandshake, "", []string{"start timeout of 1s"}, ""},
		"answers with another certificate": {StageDescribe, "", []string{"x509"}, ""},
		"speaks another version":           {StageHandshake, "", []string{"version 99", "version 1"}, ""},
		"speaks another protocol":          {StageHandshake, "", []string{"7"}, ""},
		"has a mangled certificate":        {StageHandshake, "", []string{"cert"}, ""},
		"listens nowhere":                  {StageDescribe, "", []string{"no such file"}, ""},
		"ends after the handshake":         {"", "exit status 4", []string{"that was it"}, "that was it"},
		"freezes after the handshake":      {StageHandshake, "", []string{"start timeout of 1s", "took no connection"}, ""},
		"accepts and never answers":        {StageHandshake, "", []string{"start timeout of 1s"}, ""},
		"does not know its nonce":          {StageDescribe, "", []string{"another process"}, ""},
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			spec := command(t, role)
			spec.StartTimeout = time.Second
			d := newDriver(t, spec)
			_, err := d.Describe(guarded(t))
			var start *StartError
			if !errors.As(err, &start) {
				t.Fatalf("got %v, want a StartError", err)
			}
			if !errors.Is(err, wire.ErrDriverUnavailable) {
				t.Error("it is not ErrDriverUnavailable")
			}
			if start.Driver != role || start.Stage != test.stage && test.stage != "" || start.ExitStatus != test.status {
				t.Errorf("driver %q, stage %q, status %q: %v", start.Driver, start.Stage, start.ExitStatus, err)
			}
			for _, say := range append(test.says, spec.Command[0], role) {
				if !strings.Contains(err.Error(), say) {
					t.Errorf("%q is missing in: %v", say, err)
				}
			}
			if test.stderr != "" && !slices.Contains(start.Stderr, test.stderr) {
				t.Errorf("the last lines are %q", start.Stderr)
			}
			if s := d.Status(); s.PID != 0 || s.LastErr == nil || s.State != StateBackoff {
				t.Errorf("status %+v", s)
			}
		})
	}
}

func TestWhatCanNotBeExecutedIsExplained(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		must(t, os.WriteFile(path, []byte(content), mode))
		return path
	}
	for name, test := range map[string]struct {
		command []string
		stage   Stage
		says    string
	}{
		"no command":              {nil, StagePrepare, "no command is configured"},
		"a missing file":          {[]string{filepath.Join(folder, "missing")}, StageExec, "there is no file"},
		"a name not in PATH":      {[]string{"cachewright-no-such-program"}, StagePrepare, "not an executable in PATH"},
		"a folder":                {[]string{folder}, StageExec, "is a folder"},
		"not executable":          {[]string{write("plain", "#!/bin/sh\n", 0o644)}, StageExec, "chmod +x"},
		"an empty file":           {[]string{write("empty", "", 0o755)}, StageExec, "is empty"},
		"a text":                  {[]string{write("text", "hello\n", 0o755)}, StageExec, "no program (a script needs"},
		"a missing interpreter":   {[]string{write("script", "#!/no/such/interpreter -x\n", 0o755)}, StageExec, `"/no/such/interpreter -x"`},
		"a program for Windows":   {[]string{write("windows", "MZ\x90\x00"+strings.Repeat("\x00", 100), 0o755)}, StageExec, "a Windows program"},
		"a program for macOS":     {[]string{write("macos", "\xcf\xfa\xed\xfe"+strings.Repeat("\x00", 100), 0o755)}, StageExec, "a macOS program"},
		"another architecture":    {[]string{write("foreign", foreignELF, 0o755)}, StageExec, "an ELF program for s390"},
		"a damaged program":       {[]string{write("damaged", "\x7fELF"+strings.Repeat("\xff", 100), 0o755)}, StageExec, "an ELF program that is damaged"},
		"a file in a plain file":  {[]string{filepath.Join(folder, "plain", "driver")}, StageExec, "not a directory"},
		"an impossible variable":  {[]string{"true"}, StagePrepare, "PLUGIN_X belongs to the handshake"},
		"an argument with a zero": {[]string{"true", "a\x00b"}, StageExec, "invalid argument"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := Spec{Name: "acme", Command: test.command}
			if name == "an impossible variable" {
				spec.Env = map[string]string{"PLUGIN_X": "1"}
			}
			_, err := newDriver(t, spec).Describe(guarded(t))
			var start *StartError
			if !errors.As(err, &start) || start.Stage != test.stage || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want one at %s that says %q", err, test.stage, test.says)
			}
		})
	}
}

// foreignELF is the header of a big-endian program for a mainframe.
var foreignELF = "\x7fELF\x02\x02\x01" + strings.Repeat("\x00", 9) +
	"\x00\x02\x00\x16\x00\x00\x00\x01" + strings.Repeat("\x00", 28) +
	"\x00\x40\x00\x38\x00\x00\x00\x40\x00\x00\x00\x00"

func TestABuiltInThatDoesNotStartPointsToThePackagesOfTheProgram(t *testing.T) {
	t.Parallel()
	for role, says := range map[string]string{
		"exits":           "APP_TOKEN is not set",
		"opens the cache": "this process is itself a built-in driver",
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			d := newDriver(t, Spec{Name: "testmem", Builtin: true, Env: map[string]string{"HOST_TEST_BAD_INIT": role}})
			_, err := d.Describe(guarded(t))
			var start *StartError
			if !errors.As(err, &start) {
				t.Fatal(err)
			}
			for _, say := range []string{says, "init()", "run: command", "cachewright-driver-testmem"} {
				if !strings.Contains(err.Error(), say) {
					t.Errorf("%q is missing in: %v", say, err)
				}
			}
		})
	}
}

func TestAnUnknownBuiltInNamesThoseThatExist(t *testing.T) {
	t.Parallel()
	_, err := newDriver(t, Spec{Name: "redis", Builtin: true}).Describe(guarded(t))
	if err == nil || !strings.Contains(err.Error(), `no driver "redis" is built in (there are testmem)`) {
		t.Error(err)
	}
}

func TestABuiltInOfAReplacedFileIsRefused(t *testing.T) {
	t.Parallel()
	spec := Spec{Name: "testmem", Builtin: true}
	desc := Description{Name: "testmem", BuildID: "another"}
	byPath := &program{path: "/app", real: "/app"}
	if err := checkIdentity(spec, byPath, desc, true); err == nil || !strings.Contains(err.Error(), "restart the program") {
		t.Errorf("got %v", err)
	}
	bySelf := &program{path: "/proc/self/exe", real: "/app"}
	if err := checkIdentity(spec, bySelf, desc, true); err != nil {
		t.Errorf("the running file itself can't have been replaced: %v", err)
	}
	desc.Name = "other"
	if err := checkIdentity(spec, bySelf, desc, true); err == nil {
		t.Error("another driver was accepted")
	}
}

func TestADriverSeesTheAllowListOnly(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
	t.Setenv("PLUGIN_CLIENT_CERT", "foreign")
	t.Setenv("LC_TIME", "C")
	d := newDriver(t, command(t, "driver"))
	value, _, err := openStore(t, d, nil).Get(guarded(t), "environment")
	must(t, err)
	var names []string
	for _, variable := range strings.Split(string(value), "\x00") {
		name, _, _ := strings.Cut(variable, "=")
		if name != roleKey && !inherits(name) {
			t.Errorf("the driver has %s", name)
		}
		names = append(names, name)
	}
	if !slices.Contains(names, "LC_TIME") || !slices.Contains(names, "PATH") || strings.Contains(string(value), "hunter2") {
		t.Errorf("the driver has %q", names)
	}
}

func TestADriverInheritsNoDescriptorsBesidesItsStreams(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("descriptors can't be told here")
	}
	d := newDriver(t, command(t, "driver"))
	value, _, err := openStore(t, d, nil).Get(guarded(t), "descriptors")
	must(t, err)
	for _, descriptor := range strings.Fields(string(value)) {
		number, target, _ := strings.Cut(descriptor, "=")
		if strings.Contains(target, folderPrefix) || strings.HasSuffix(target, ".test") {
			t.Errorf("descriptor %s is %s", number, target)
		}
	}
}

func TestWhatADriverPrintsIsLoggedAndHarmless(t *testing.T) {
	t.Parallel()
	log := &logBuffer{}
	spec := command(t, "logs a bomb")
	spec.Logger = log.logger()
	d := newDriver(t, spec)
	r := openStore(t, d, map[string]any{"secret": "hunter2"})
	ctx := guarded(t)
	must(t, r.Set(ctx, "stderr", []byte("time=x level=ERROR msg=oops\n"), 0))
	must(t, d.Close(ctx))
	text := log.String()
	for _, want := range []string{
		`level=WARN msg="a real one"`, "fields.k=v", `{\"@message\":42`, "level=ERROR", "oops", "driver=\"logs a bomb\"", "pid=", "driver started", "driver stopped",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in the log", want)
		}
	}
	if strings.Contains(text, "hunter2") {
		t.Error("a secret option is in the log")
	}
	for line := range strings.Lines(text) {
		if len(line) > 2*stderrLineLimit {
			t.Errorf("a line of %d bytes is in the log", len(line))
		}
	}
}

func TestStdoutIsReadForEver(t *testing.T) {
	t.Parallel()
	log := &logBuffer{}
	spec := command(t, "prints for ever")
	spec.Logger = log.logger()
	d := newDriver(t, spec)
	r := openStore(t, d, nil)
	for deadline := time.Now().Add(200 * time.Millisecond); time.Now().Before(deadline); {
		if err := r.Set(guarded(t), "k", nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	must(t, d.Close(guarded(t)))
	if !strings.Contains(log.String(), `msg="ACME is starting"`) || !strings.Contains(log.String(), "stream=stdout") {
		t.Errorf("the log lacks what was printed: %.2000s", log)
	}
}
