package database

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

// An op is an operation on key "target", and what it leaves there if it was
// carried out once on "7".
type op struct {
	name   string
	run    func(context.Context, *store) error
	leaves string
}

var onceOps = []op{
	{"Increment", func(ctx context.Context, s *store) error { _, err := s.Increment(ctx, "target", 1, 0); return err }, "8"},
	{"Replace", func(ctx context.Context, s *store) error {
		_, err := s.Replace(ctx, "target", []byte("9"), 0)
		return err
	}, "9"},
	{"Pull", func(ctx context.Context, s *store) error { _, _, err := s.Pull(ctx, "target"); return err }, ""},
	{"Add", func(ctx context.Context, s *store) error { _, err := s.Add(ctx, "target", []byte("9"), 0); return err }, "7"},
}

var repeatableOps = []op{
	{"Set", func(ctx context.Context, s *store) error { return s.Set(ctx, "target", []byte("9"), 0) }, "9"},
	{"SetMany", func(ctx context.Context, s *store) error {
		return s.SetMany(ctx, []sdk.Entry{{Key: "target", Value: []byte("9")}})
	}, "9"},
	{"Delete", func(ctx context.Context, s *store) error { _, err := s.Delete(ctx, "target"); return err }, ""},
	{"DeleteMany", func(ctx context.Context, s *store) error { _, err := s.DeleteMany(ctx, []string{"target"}); return err }, ""},
	{"CompareDelete", func(ctx context.Context, s *store) error {
		_, err := s.CompareDelete(ctx, "target", []byte("7"))
		return err
	}, ""},
	{"Touch", func(ctx context.Context, s *store) error { _, err := s.Touch(ctx, "target", time.Hour); return err }, "7"},
	{"Clear", func(ctx context.Context, s *store) error { _, _, err := s.Clear(ctx, "target", nil); return err }, ""},
	{"AcquireLease", func(ctx context.Context, s *store) error {
		g, err := s.AcquireLease(ctx, lease(exclusive, "target", "me", time.Hour))
		if err == nil && !g.OK {
			err = errors.New("refused")
		}
		return err
	}, "7"},
}

var readOps = []op{
	{"Get", func(ctx context.Context, s *store) error { _, _, err := s.Get(ctx, "target"); return err }, "7"},
	{"GetMany", func(ctx context.Context, s *store) error { _, err := s.GetMany(ctx, []string{"target"}); return err }, "7"},
	{"TTL", func(ctx context.Context, s *store) error { _, _, err := s.TTL(ctx, "target"); return err }, "7"},
	{"Keys", func(ctx context.Context, s *store) error { _, _, err := s.Keys(ctx, "target", nil, 10); return err }, "7"},
}

// behindProxy is a store whose way to the server breaks on the test's word,
// and one beside it on the same tables.
func behindProxy(t *testing.T, server *servertest.Postgres) (*servertest.Proxy, *store, *store) {
	t.Helper()
	proxy := servertest.StartProxy(t, "tcp", server.Addr())
	clear := fresh(t, server)
	s := twin(t, clear, strings.Replace(server.URL(""), server.Addr(), proxy.Addr(), 1))
	for _, o := range [][]op{onceOps, repeatableOps, readOps} {
		for _, op := range o {
			op.run(bounded(t), s) // prepares its statement
		}
	}
	return proxy, s, clear
}

func TestCutAnswers(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	proxy, s, beside := behindProxy(t, server)

	for _, op := range onceOps {
		t.Run(op.name+" is not repeated when its answer is lost", func(t *testing.T) {
			beside.mustSet(t, "target", "7", 0)
			trap := proxy.CutReplies("target", 0)
			err := op.run(bounded(t), s)
			proxy.Heal(t)
			if !errors.Is(err, sdk.ErrMaybeApplied) {
				t.Errorf("got %v; want ErrMaybeApplied", err)
			}
			if trap.Count() != 1 {
				t.Errorf("it was sent %d times", trap.Count())
			}
			beside.holds(t, "target", op.leaves)
		})
	}
	for _, op := range append(append([]op{}, repeatableOps...), readOps...) {
		t.Run(op.name+" is repeated when its answer is lost", func(t *testing.T) {
			beside.mustSet(t, "target", "7", 0)
			trap := proxy.CutNextReply("target", 0)
			err := op.run(bounded(t), s)
			proxy.Heal(t)
			if err != nil || trap.Count() != 1 {
				t.Errorf("got %v after %d lost answers", err, trap.Count())
			}
			beside.holds(t, "target", op.leaves)
		})
	}
	for _, op := range repeatableOps {
		t.Run(op.name+" says that it may have been applied when every answer is lost", func(t *testing.T) {
			beside.mustSet(t, "target", "7", 0)
			proxy.CutReplies("target", 0)
			err := op.run(bounded(t), s)
			proxy.Heal(t)
			if !errors.Is(err, sdk.ErrMaybeApplied) || !errors.Is(err, sdk.ErrUnavailable) {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, op := range readOps {
		t.Run(op.name+" never says so", func(t *testing.T) {
			proxy.CutReplies("target", 0)
			err := op.run(bounded(t), s)
			proxy.Heal(t)
			if errors.Is(err, sdk.ErrMaybeApplied) || !errors.Is(err, sdk.ErrUnavailable) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("a release whose answer is lost is a release", func(t *testing.T) {
		for _, strategy := range []string{leased, exclusive} {
			beside.takes(t, lease(strategy, "target lock", "me", time.Hour))
			proxy.CutNextReply("target", 0)
			released, err := s.ReleaseLease(bounded(t), lease(strategy, "target lock", "me", 0))
			proxy.Heal(t)
			if err != nil || strategy == exclusive && !released {
				t.Errorf("%s: %t, %v", strategy, released, err)
			}
			beside.takes(t, lease(strategy, "target lock", "next", time.Microsecond))
		}
	})
}

func TestCallersThatGiveUp(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	proxy, s, beside := behindProxy(t, server)
	for i, op := range append(append(append([]op{}, onceOps...), repeatableOps...), readOps...) {
		t.Run(op.name+" ends with its caller's context", func(t *testing.T) {
			beside.mustSet(t, "target", "7", 0)
			trap := proxy.HoldReplies("target")
			ctx, cancel := context.WithCancel(t.Context())
			result := make(chan error, 1)
			go func() { result <- op.run(ctx, s) }()
			<-trap.Sprung() // it has been executed
			cancel()
			err := <-result
			proxy.Heal(t)
			reads := i >= len(onceOps)+len(repeatableOps)
			if !errors.Is(err, context.Canceled) || errors.Is(err, sdk.ErrMaybeApplied) == reads {
				t.Errorf("got %v", err)
			}
		})
	}
}
