package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
)

// A spectator ends the watch when it has seen enough.
type spectator struct {
	bytes.Buffer
	enough int
	stop   func()
}

func (s *spectator) Write(p []byte) (int, error) {
	if s.enough--; s.enough <= 0 {
		s.stop()
	}
	return s.Buffer.Write(p)
}

func TestAWatchShowsAgainUntilItIsInterrupted(t *testing.T) {
	t.Parallel()
	s := newShell(t, tidyConfig)
	for _, line := range []string{"stores --watch=100ms", "stores --watch 100ms", "stores --watch=100ms --json"} {
		ctx, stop := context.WithCancel(t.Context())
		out := &spectator{enough: 3, stop: stop}
		code := run(ctx, append([]string{"-c", s.dir + "/config.yaml"}, strings.Fields(line)...), strings.NewReader(""), out, &bytes.Buffer{})
		if code != exitYes {
			t.Errorf("%s: exit %d", line, code)
		}
		pictures := strings.Count(out.String(), "STORE   DRIVER")
		if strings.Contains(line, "--json") {
			pictures = strings.Count(out.String(), "\n")
			for one := range strings.Lines(out.String()) {
				if !json.Valid([]byte(one)) {
					t.Errorf("%s: not JSON: %s", line, one)
				}
			}
		}
		if pictures != 3 || strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s: %d pictures\n%s", line, pictures, out.String())
		}
	}
}
