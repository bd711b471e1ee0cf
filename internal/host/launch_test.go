//go:build unix

package host

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
)

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
			if desc.Name != "testmem" || desc.Version != "1.2.3" || desc.Protocol != wire.ProtocolMax || len(desc.Schema) != len(testDriver.Schema) {
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
		"prints garbage and waits":         {StageHandshake, "", []string{"start timeout of 4s", "Welcome to ACME!"}, "stdout: usage: acme [flags]"},
		"prints garbage and ends":          {StageHandshake, "exit status 0", []string{"ended before the handshake", "Welcome to ACME!"}, "stdout: Welcome to ACME!"},
		"says nothing":                     {StageHandshake, "", []string{"start timeout of 4s", "no handshake on stdout"}, ""},
		"closes its stdout and waits":      {StageHandshake, "", []string{"start timeout of 4s"}, ""},
		"has no certificate":               {StageHandshake, "", []string{"no TLS certificate"}, ""},
		"has a foreign certificate":        {StageHandshake, "", []string{"start timeout of 4s"}, ""},
		"answers with another certificate": {StageDescribe, "", []string{"x509"}, ""},
		"speaks another version":           {StageHandshake, "", []string{"version 99", "version 1"}, ""},
		"speaks another protocol":          {StageHandshake, "", []string{"7"}, ""},
		"has a mangled certificate":        {StageHandshake, "", []string{"cert"}, ""},
		"listens nowhere":                  {StageDescribe, "", []string{"no such file"}, ""},
		"ends after the handshake":         {"", "exit status 4", []string{"that was it"}, "that was it"},
		"freezes after the handshake":      {StageHandshake, "", []string{"start timeout of 4s", "took no connection"}, ""},
		"accepts and never answers":        {StageHandshake, "", []string{"start timeout of 4s"}, ""},
		"never answers Describe":           {StageDescribe, "", []string{"no answer to Describe within 2s"}, ""},
		"serves something else":            {StageDescribe, "", []string{"unknown service"}, ""},
		"does not know its nonce":          {StageDescribe, "", []string{"another process"}, ""},
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			spec := command(t, role)
			spec.StartTimeout = 4 * time.Second
			if role == "never answers Describe" {
				spec.StartTimeout = hangGuard // its own timeout comes first
			}
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
