//go:build unix

package host

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

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
	if _, err := os.Stat("/proc/self/fd"); err != nil && runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: descriptors can't be told here")
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
