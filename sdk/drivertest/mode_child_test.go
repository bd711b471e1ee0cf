package drivertest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// A mortal is a store in a process that ends badly.
type mortal struct {
	bare
	end string
}

type mortalOptions struct {
	End string `option:"end" enum:"well,status 3,crash"`
}

var mortalDriver = sdk.Define("mortal", "1", func(_ context.Context, o mortalOptions) (sdk.Store, error) {
	return &mortal{bare{newReference(newDisk())}, o.End}, nil
})

func (m *mortal) Set(context.Context, string, []byte, time.Duration) error {
	if m.end == "crash" {
		go func() { panic("a goroutine of the driver's") }()
		select {}
	}
	return nil
}

func (m *mortal) Close() error {
	if m.end == "status 3" {
		os.Exit(3)
	}
	return nil
}

func TestChildThatEndsBadlyIsNoticed(t *testing.T) {
	Child(mortalDriver)
	for _, test := range []struct {
		end, want string
	}{
		{"well", ""},
		{"status 3", "exit status 3"},
		{"crash", "a goroutine of the driver's"},
	} {
		t.Run(test.end, func(t *testing.T) {
			tb := &listener{TB: t, name: "TestChildThatEndsBadlyIsNoticed"}
			s, err := startChild(tb, mortalDriver).open(t.Context(), map[string]any{"end": test.end})
			if err != nil {
				t.Fatalf("open: %v", err)
			}
			s.Set(t.Context(), "key", nil, sdk.NoExpiry) // whether it works is the driver's affair
			s.Close(t.Context())
			tb.end()
			heard := strings.Join(tb.heard, "\n")
			if test.want == "" && heard != "" || !strings.Contains(heard, test.want) {
				t.Errorf("after %s the test hears %q; want %q in it", test.end, heard, test.want)
			}
		})
	}
}

// A listener is a test that is told of failures without failing.
type listener struct {
	testing.TB
	name     string
	heard    []string
	cleanups []func()
}

func (l *listener) Name() string     { return l.name }
func (l *listener) Cleanup(f func()) { l.cleanups = append(l.cleanups, f) }
func (l *listener) Errorf(format string, args ...any) {
	l.heard = append(l.heard, fmt.Sprintf(format, args...))
}

func (l *listener) end() {
	for _, f := range slices.Backward(l.cleanups) {
		f()
	}
}

func TestOnly(t *testing.T) {
	for _, test := range []struct {
		t    testing.TB
		want string
	}{
		{&listener{TB: t, name: "TestA/b c/d+"}, `-test.run=^TestA$/^b c$/^d\+$`},
		{&testing.B{}, "-test.run=^$ -test.bench=^$"},
	} {
		if got := strings.Join(only(test.t), " "); got != test.want {
			t.Errorf("only(%s) = %s; want %s", test.t.Name(), got, test.want)
		}
	}
}
