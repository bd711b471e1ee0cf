package database

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Tests that need several processes run this test binary again in a role.
const roleVariable = "CACHEWRIGHT_DATABASE_TEST_ROLE"

var roles = map[string]func(context.Context, *store) error{
	"count": countFromCold,
}

func init() {
	name, dsn, ok := strings.Cut(os.Getenv(roleVariable), " ")
	if !ok {
		return
	}
	if err := play(name, dsn); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func play(name, dsn string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := open(ctx, settled(dsn))
	if err != nil {
		return err
	}
	return errors.Join(roles[name](ctx, s), s.Close())
}

// inRole starts a process in a role, and returns what waits for its end.
func inRole(t *testing.T, name, dsn string) (wait func() error) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+name+" "+dsn)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	return func() error {
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("%w: %s", err, out.String())
		}
		return nil
	}
}

const countSteps = 50

// countFromCold uses a store whose tables others create at the same time.
func countFromCold(ctx context.Context, s *store) error {
	for range countSteps {
		if _, err := s.Increment(ctx, "counter", 1, 0); err != nil {
			return err
		}
	}
	return nil
}
