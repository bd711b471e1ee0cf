package host

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/internal/wire/driverpb"
	"github.com/cachewright/cachewright/sdk"
)

// A far end is a driver without a process, and what a test can do to it.
type farEnd struct {
	conn conn
	cc   *grpc.ClientConn
	stop func() // ends the driver's side and waits
}

// dialed serves d in this process and connects to it, as the host would.
func dialed(t testing.TB, d sdk.Driver) *farEnd {
	t.Helper()
	l := bufconn.Listen(1 << 20)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- sdk.ServeListener(ctx, d, l) }()
	return connectedTo(t, l, func(ctx context.Context) (net.Conn, error) { return l.DialContext(ctx) }, sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("ServeListener = %v", err)
		}
	}))
}

// foreign serves a driver that does without the sdk.
func foreign(t testing.TB, server driverpb.DriverServer, options ...grpc.ServerOption) *farEnd {
	t.Helper()
	l := bufconn.Listen(1 << 20)
	s := grpc.NewServer(options...)
	driverpb.RegisterDriverServer(s, server)
	go s.Serve(l)
	return connectedTo(t, l, func(ctx context.Context) (net.Conn, error) { return l.DialContext(ctx) }, s.Stop)
}

// overUnixSocket is dialed through the kernel.
func overUnixSocket(t testing.TB, d sdk.Driver) *farEnd {
	t.Helper()
	dir, err := os.MkdirTemp("", "w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- sdk.ServeListener(ctx, d, l) }()
	dial := func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "unix", path) }
	return connectedTo(t, l, dial, sync.OnceFunc(func() {
		cancel()
		<-served
	}))
}

func connectedTo(t testing.TB, l net.Listener, dial func(context.Context) (net.Conn, error), stop func()) *farEnd {
	t.Helper()
	cc, err := grpc.NewClient("passthrough:///far", append(dialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cc.Close()
		stop()
		l.Close()
	})
	return &farEnd{conn: newConn(cc), cc: cc, stop: stop}
}

// opening is a driver whose stores are all s.
func opening(s sdk.Store) sdk.Driver {
	return sdk.Define("far", "1.0.0", func(context.Context, struct{}) (sdk.Store, error) { return s, nil })
}

// opened serves s and opens it.
func opened(t testing.TB, s sdk.Store) (*wireStore, *farEnd) {
	t.Helper()
	far := dialed(t, opening(s))
	store, err := far.conn.open(t.Context(), "s", nil, wire.ProtocolMax)
	if err != nil {
		t.Fatal(err)
	}
	return store, far
}

// A scripted store answers every call by one function, which sees what reached
// it.
type scripted struct {
	answer func(ctx context.Context, call string) error // nil: no error
}

func (s *scripted) do(ctx context.Context, format string, args ...any) error {
	if s.answer == nil {
		return nil
	}
	return s.answer(ctx, fmt.Sprintf(format, args...))
}

func (s *scripted) Traits() sdk.Traits {
	return sdk.Traits{
		Granularity: time.Second, MaxKey: 250, MaxValue: 1 << 20, LockStrategy: sdk.StrategyLease, LockScope: sdk.ScopeCluster,
		ShortestLease: 2 * time.Second, Class: sdk.ClassExclusive, ReleaseCompares: true, Space: "somewhere\xff",
	}
}

func (s *scripted) Close() error { return nil }

func (s *scripted) Get(ctx context.Context, key string) ([]byte, bool, error) {
	return []byte("v"), true, s.do(ctx, "get %s", key)
}

func (s *scripted) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return s.do(ctx, "set %s %s %v", key, value, ttl)
}

func (s *scripted) Delete(ctx context.Context, key string) (bool, error) {
	return true, s.do(ctx, "delete %s", key)
}

func (s *scripted) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	return true, s.do(ctx, "add %s %s %v", key, value, ttl)
}

func (s *scripted) Replace(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	return true, s.do(ctx, "replace %s %s %v", key, value, ttl)
}

func (s *scripted) Pull(ctx context.Context, key string) ([]byte, bool, error) {
	return []byte("pulled"), true, s.do(ctx, "pull %s", key)
}

func (s *scripted) Increment(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error) {
	return -delta, s.do(ctx, "increment %s %d %v", key, delta, initialTTL)
}

func (s *scripted) CompareDelete(ctx context.Context, key string, value []byte) (bool, error) {
	return true, s.do(ctx, "compare-delete %s %s", key, value)
}

func (s *scripted) GetMany(ctx context.Context, keys []string) ([]sdk.Lookup, error) {
	if err := s.do(ctx, "get-many %v", keys); err != nil {
		return nil, err
	}
	answers := make([]sdk.Lookup, len(keys))
	for i, key := range keys {
		answers[i] = sdk.Lookup{Value: []byte(key), OK: key != "absent"}
		if key == "bad" {
			answers[i] = sdk.Lookup{Err: fmt.Errorf("%w: on purpose", sdk.ErrCorrupt)}
		}
	}
	return answers, nil
}

func (s *scripted) SetMany(ctx context.Context, entries []sdk.Entry) error {
	keys := make([]string, len(entries))
	for i, e := range entries {
		keys[i] = fmt.Sprintf("%s=%.3s,%v", e.Key, e.Value, e.TTL)
	}
	return s.do(ctx, "set-many %v", keys)
}

func (s *scripted) DeleteMany(ctx context.Context, keys []string) (int, error) {
	return len(keys), s.do(ctx, "delete-many %v", keys)
}

func (s *scripted) TTL(ctx context.Context, key string) (time.Duration, bool, error) {
	return time.Minute, true, s.do(ctx, "ttl %s", key)
}

func (s *scripted) Touch(ctx context.Context, key string, ttl time.Duration) (bool, error) {
	return true, s.do(ctx, "touch %s %v", key, ttl)
}

func (s *scripted) Keys(ctx context.Context, prefix string, cursor []byte, limit int) ([]string, []byte, error) {
	return []string{"a", "b"}, []byte("next"), s.do(ctx, "keys %s %s %d", prefix, cursor, limit)
}

func (s *scripted) Clear(ctx context.Context, prefix string, cursor []byte) ([]byte, int, error) {
	return []byte("next"), 7, s.do(ctx, "clear %s %s", prefix, cursor)
}

func (s *scripted) AcquireLease(ctx context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	return sdk.LeaseGrant{OK: true, Fence: 1 << 60, Remaining: r.Lease}, s.do(ctx, "acquire %+v", r)
}

func (s *scripted) RenewLease(ctx context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	return sdk.LeaseGrant{Remaining: time.Second}, s.do(ctx, "renew %+v", r)
}

func (s *scripted) ReleaseLease(ctx context.Context, r sdk.LeaseRequest) (bool, error) {
	return true, s.do(ctx, "release %+v", r)
}

func (s *scripted) WaitLease(ctx context.Context, r sdk.LeaseRequest) error {
	return s.do(ctx, "wait %+v", r)
}

func (s *scripted) Ping(ctx context.Context) error { return s.do(ctx, "ping") }

func (s *scripted) Stats(ctx context.Context) ([]sdk.Stat, error) {
	return []sdk.Stat{{Name: "a.b", Value: "1", Warning: "careful"}}, s.do(ctx, "stats")
}

// everyOperation calls each of a store's operations, and returns its result and
// error as text.
func everyOperation() map[string]func(context.Context, Store) (string, error) {
	lease := sdk.LeaseRequest{Strategy: sdk.StrategyExclusive, Key: "k", Owner: "me", Lease: time.Minute, Clock: sdk.DriverClock}
	return map[string]func(context.Context, Store) (string, error){
		"Get": func(ctx context.Context, s Store) (string, error) {
			value, ok, err := s.Get(ctx, "k")
			return fmt.Sprint(string(value), ok), err
		},
		"Set": func(ctx context.Context, s Store) (string, error) {
			return "", s.Set(ctx, "k", []byte("v"), time.Second)
		},
		"Delete": func(ctx context.Context, s Store) (string, error) { return text(s.Delete(ctx, "k")) },
		"Add": func(ctx context.Context, s Store) (string, error) {
			return text(s.Add(ctx, "k", []byte("v"), sdk.NoExpiry))
		},
		"Replace": func(ctx context.Context, s Store) (string, error) {
			return text(s.Replace(ctx, "k", []byte("v"), time.Hour))
		},
		"Pull": func(ctx context.Context, s Store) (string, error) {
			value, ok, err := s.Pull(ctx, "k")
			return fmt.Sprint(string(value), ok), err
		},
		"Increment": func(ctx context.Context, s Store) (string, error) {
			return text(s.Increment(ctx, "k", -9223372036854775807, time.Hour))
		},
		"CompareDelete": func(ctx context.Context, s Store) (string, error) {
			return text(s.CompareDelete(ctx, "k", []byte("v")))
		},
		"GetMany": func(ctx context.Context, s Store) (string, error) {
			return text(s.GetMany(ctx, []string{"a", "absent", "a", "bad"}))
		},
		"SetMany": func(ctx context.Context, s Store) (string, error) {
			return "", s.SetMany(ctx, []sdk.Entry{{Key: "a", Value: []byte("1"), TTL: time.Second}, {Key: "b"}, {Key: "a", Value: []byte("2")}})
		},
		"DeleteMany": func(ctx context.Context, s Store) (string, error) {
			return text(s.DeleteMany(ctx, []string{"a", "b", "a"}))
		},
		"TTL": func(ctx context.Context, s Store) (string, error) {
			ttl, ok, err := s.TTL(ctx, "k")
			return fmt.Sprint(ttl, ok), err
		},
		"Touch": func(ctx context.Context, s Store) (string, error) { return text(s.Touch(ctx, "k", time.Hour)) },
		"Keys": func(ctx context.Context, s Store) (string, error) {
			keys, next, err := s.Keys(ctx, "p", []byte("cursor"), 10)
			return fmt.Sprint(keys, string(next)), err
		},
		"Clear": func(ctx context.Context, s Store) (string, error) {
			next, removed, err := s.Clear(ctx, "p", []byte("cursor"))
			return fmt.Sprint(string(next), removed), err
		},
		"AcquireLease": func(ctx context.Context, s Store) (string, error) { return text(s.AcquireLease(ctx, lease)) },
		"RenewLease":   func(ctx context.Context, s Store) (string, error) { return text(s.RenewLease(ctx, lease)) },
		"ReleaseLease": func(ctx context.Context, s Store) (string, error) { return text(s.ReleaseLease(ctx, lease)) },
		"WaitLease":    func(ctx context.Context, s Store) (string, error) { return "", s.WaitLease(ctx, lease) },
		"Ping":         func(ctx context.Context, s Store) (string, error) { return "", s.Ping(ctx) },
		"Stats":        func(ctx context.Context, s Store) (string, error) { return text(s.Stats(ctx)) },
	}
}

// reading are the operations that change nothing.
var reading = map[string]bool{"Get": true, "GetMany": true, "TTL": true, "Keys": true, "WaitLease": true, "Ping": true, "Stats": true}

func text[T any](result T, err error) (string, error) { return fmt.Sprintf("%+v", result), err }

// overCuttable serves store on a connection that l can cut.
func overCuttable(t testing.TB, l *cuttable, store sdk.Store) *wireStore {
	t.Helper()
	network := bufconn.Listen(1 << 20)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- sdk.ServeListener(ctx, opening(store), network) }()
	far := connectedTo(t, network, func(ctx context.Context) (net.Conn, error) {
		c, err := network.DialContext(ctx)
		if err != nil {
			return nil, err
		}
		return l.keep(c)
	}, sync.OnceFunc(func() {
		cancel()
		<-served
	}))
	s, err := far.conn.open(t.Context(), "s", nil, wire.ProtocolMax)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
