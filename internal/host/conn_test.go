package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/internal/wire/driverpb"
	"github.com/cachewright/cachewright/sdk"
)

func TestTheWireChangesNothing(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var calls []string
	s := &scripted{answer: func(_ context.Context, call string) error {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, call)
		return nil
	}}
	near, err := opening(s).Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	far, _ := opened(t, s)
	for name, operation := range everyOperation() {
		calls = nil
		want, wantErr := operation(t.Context(), near)
		wantCalls := calls
		calls = nil
		got, err := operation(t.Context(), far)
		if got != want || err != nil || wantErr != nil {
			t.Errorf("%s = %s, %v, and %s, %v without the wire", name, got, err, want, wantErr)
		}
		if !slices.Equal(calls, wantCalls) {
			t.Errorf("%s reaches the store as\n%q, and without the wire as\n%q", name, calls, wantCalls)
		}
	}
}

func TestTheAnnouncementArrivesWhole(t *testing.T) {
	t.Parallel()
	s := &scripted{}
	near, err := opening(s).Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	far, _ := opened(t, s)
	if !slices.Equal(far.Capabilities(), near.Capabilities()) || len(far.Capabilities()) != 14 {
		t.Errorf("capabilities = %v, want %v", far.Capabilities(), near.Capabilities())
	}
	got, want := far.Traits(), near.Traits()
	if !strings.HasPrefix(got.Space, `"somewhere`) {
		t.Errorf("space = %s, want it quoted, since it is no UTF-8", got.Space)
	}
	got.Space, want.Space = "", ""
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("traits = %+v, want %+v", got, want)
	}
}

func TestDescribeSettlesOnAVersion(t *testing.T) {
	t.Parallel()
	d := sdk.Define("far", "1.2.3", func(context.Context, struct {
		Path string `option:"path,required,path" doc:"where"`
		Mode string `option:"mode" default:"a" enum:"a,b"`
		Word string `option:"word,secret"`
	}) (sdk.Store, error) {
		return &scripted{}, nil
	})
	got, nonce, err := dialed(t, d).conn.describe(t.Context())
	if err != nil || nonce != "" {
		t.Fatalf("describe = %v, nonce %q", err, nonce)
	}
	if got.Name != "far" || got.Version != "1.2.3" || got.Protocol != wire.ProtocolMax || got.BuildID != wire.BuildID() || got.Metadata["pid"] == "" {
		t.Errorf("describe = %+v", got)
	}
	if fmt.Sprint(got.Schema) != fmt.Sprint(d.Schema) {
		t.Errorf("schema = %+v, want %+v", got.Schema, d.Schema)
	}
}

// A future driver speaks none of our versions.
type futureDriver struct {
	driverpb.UnimplementedDriverServer
}

func (futureDriver) Describe(context.Context, *driverpb.DescribeRequest) (*driverpb.DescribeReply, error) {
	return &driverpb.DescribeReply{Name: "future", Version: "9.0.0", ProtocolMin: 7, ProtocolMax: 9, Nonce: "n"}, nil
}

func TestADriverWithoutACommonVersionIsNamedWithBothRanges(t *testing.T) {
	t.Parallel()
	got, nonce, err := foreign(t, futureDriver{}).conn.describe(t.Context())
	want := "driver future 9.0.0: no common protocol version: this side speaks 1 to 1, the other 7 to 9"
	if err == nil || err.Error() != want || got.Name != "future" || nonce != "n" {
		t.Errorf("describe = %+v, %q, %v, want %q", got, nonce, err, want)
	}
}

func TestRefusedOptionsArriveKeyByKey(t *testing.T) {
	t.Parallel()
	d := sdk.Define("far", "1", func(_ context.Context, o struct {
		A int `option:"a"`
	}) (sdk.Store, error) {
		if o.A == 7 {
			return nil, &sdk.OptionsError{Problems: []sdk.Problem{{Key: "a", Reason: "must not be 7 – because"}}}
		}
		return &scripted{}, nil
	})
	far := dialed(t, d)
	for _, tc := range []struct {
		options map[string]any
		want    []sdk.Problem
	}{
		{map[string]any{"a": "x", "b": 1}, []sdk.Problem{{Key: "a", Reason: "wants a whole number"}, {Key: "b", Reason: "is not an option; there are a"}}},
		{map[string]any{"a": 7}, []sdk.Problem{{Key: "a", Reason: "must not be 7 – because"}}},
	} {
		_, err := far.conn.open(t.Context(), "s", tc.options, 1)
		refused, ok := errors.AsType[*sdk.OptionsError](err)
		if !ok || !slices.Equal(refused.Problems, tc.want) || !errors.Is(err, wire.ErrInvalidOptions) {
			t.Errorf("open(%v) = %v, want %v", tc.options, err, tc.want)
		}
	}
	if _, err := far.conn.open(t.Context(), "s", map[string]any{"a": func() {}}, 1); !errors.Is(err, wire.ErrInvalidOptions) {
		t.Errorf("open with a function = %v", err)
	}
	if _, err := far.conn.open(t.Context(), "s", nil, 7); err == nil || !strings.Contains(err.Error(), "7 to 7") {
		t.Errorf("open under protocol 7 = %v", err)
	}
}

func TestEverySentinelArrives(t *testing.T) {
	t.Parallel()
	sentinels := []error{
		wire.ErrMaybeApplied, context.Canceled, context.DeadlineExceeded, wire.ErrInvalidKey, wire.ErrInvalidTTL, wire.ErrInvalidOptions,
		wire.ErrTooLarge, wire.ErrNotInteger, wire.ErrOverflow, wire.ErrCorrupt, wire.ErrOverloaded, wire.ErrClosed, errors.ErrUnsupported,
		wire.ErrDriverUnavailable, wire.ErrUnavailable, wire.ErrInternal, wire.ErrNotOpen,
	}
	if got, want := len(sentinels), len(wire.ErrorNames())-1; got != want {
		t.Fatalf("the table has %d sentinels, this test %d", want, got)
	}
	var answer atomic.Pointer[error]
	s, _ := opened(t, &scripted{answer: func(context.Context, string) error { return *answer.Load() }})
	check := func(t *testing.T, sent error) {
		answer.Store(&sent)
		for name, operation := range everyOperation() {
			_, err := operation(t.Context(), s)
			if _, isTransport := errors.AsType[*transportError](err); isTransport || err == nil || err.Error() != sent.Error() {
				t.Errorf("%s = %v, want %v", name, err, sent)
			}
			for _, sentinel := range sentinels {
				if errors.Is(err, sentinel) != errors.Is(sent, sentinel) {
					t.Errorf("%s: %v matches %q: %v", name, err, sentinel, errors.Is(err, sentinel))
				}
			}
		}
	}
	for _, sentinel := range sentinels {
		t.Run(sentinel.Error(), func(t *testing.T) { check(t, fmt.Errorf("in the store: %w, on purpose", sentinel)) })
	}
	t.Run("several at once", func(t *testing.T) {
		check(t, fmt.Errorf("cut: %w, %w, %w", wire.ErrUnavailable, wire.ErrMaybeApplied, context.DeadlineExceeded))
	})
	t.Run("none", func(t *testing.T) { check(t, errors.New("the moon is full, na\u00efvely; 100%")) })
}

func TestAPanicIsTheDriversError(t *testing.T) {
	t.Parallel()
	s, _ := opened(t, &scripted{answer: func(context.Context, string) error { panic("hunter2") }})
	for name, operation := range everyOperation() {
		_, err := operation(t.Context(), s)
		if !errors.Is(err, wire.ErrInternal) || errors.Is(err, wire.ErrMaybeApplied) == reading[name] || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s = %v", name, err)
		}
	}
}

// A mapStore keeps what it is given.
type mapStore struct {
	mu      sync.Mutex
	entries map[string][]byte
	sets    int
	before  func(ctx context.Context, op, key string) error
}

func (s *mapStore) Close() error { return nil }

func (s *mapStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if s.before != nil {
		if err := s.before(ctx, "get", key); err != nil {
			return nil, false, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.entries[key]
	return value, ok, nil
}

func (s *mapStore) Set(ctx context.Context, key string, value []byte, _ time.Duration) error {
	if s.before != nil {
		if err := s.before(ctx, "set", key); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries == nil {
		s.entries = make(map[string][]byte)
	}
	s.sets++
	s.entries[key] = bytes.Clone(value)
	return nil
}

func (s *mapStore) Delete(_ context.Context, key string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.entries[key]
	delete(s.entries, key)
	return ok, nil
}

// random fills n bytes with what no compression or mistake reproduces.
func random(n int) []byte {
	value := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)}).Read(value)
	return value
}

func TestValuesOfEverySizeArriveWhole(t *testing.T) {
	t.Parallel()
	s, _ := opened(t, &mapStore{})
	for _, size := range []int{0, 1, 100, 5 << 20, wire.MaxValue} {
		value := random(size)
		if err := s.Set(t.Context(), "k", value, 0); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		got, ok, err := s.Get(t.Context(), "k")
		if err != nil || !ok || got == nil || !bytes.Equal(got, value) {
			t.Errorf("%d bytes came back as %d, %v, %v", size, len(got), ok, err)
		}
	}
	if value, ok, err := s.Get(t.Context(), "absent"); value != nil || ok || err != nil {
		t.Errorf("an absent key = %v, %v, %v", value, ok, err)
	}
}

func TestAValueThatIsTooLargeIsRefusedWithBothSizes(t *testing.T) {
	t.Parallel()
	m := &mapStore{}
	s, _ := opened(t, m)
	value := make([]byte, wire.MaxValue+1)
	want := fmt.Sprintf("%d bytes, and a message to a driver carries at most %d", len(value), wire.MaxValue)
	ctx := t.Context()
	for name, err := range map[string]error{
		"Set":           s.Set(ctx, "k", value, 0),
		"Add":           func() error { _, err := s.Add(ctx, "k", value, 0); return err }(),
		"Replace":       func() error { _, err := s.Replace(ctx, "k", value, 0); return err }(),
		"CompareDelete": func() error { _, err := s.CompareDelete(ctx, "k", value); return err }(),
		"SetMany":       s.SetMany(ctx, []sdk.Entry{{Key: "k", Value: value}}),
	} {
		if !errors.Is(err, wire.ErrTooLarge) || errors.Is(err, wire.ErrMaybeApplied) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %v", name, err)
		}
	}
	if m.sets != 0 {
		t.Errorf("%d of them reached the store", m.sets)
	}
}

func TestAKeyThatNoMessageCarriesIsRefused(t *testing.T) {
	t.Parallel()
	s, _ := opened(t, &mapStore{})
	ctx := t.Context()
	const bad = "\xff"
	for name, err := range map[string]error{
		"Get":          func() error { _, _, err := s.Get(ctx, bad); return err }(),
		"Set":          s.Set(ctx, bad, nil, 0),
		"Delete":       func() error { _, err := s.Delete(ctx, bad); return err }(),
		"GetMany":      func() error { _, err := s.GetMany(ctx, []string{"a", bad}); return err }(),
		"SetMany":      s.SetMany(ctx, []sdk.Entry{{Key: bad}}),
		"DeleteMany":   func() error { _, err := s.DeleteMany(ctx, []string{bad}); return err }(),
		"Keys":         func() error { _, _, err := s.Keys(ctx, bad, nil, 1); return err }(),
		"Clear":        func() error { _, _, err := s.Clear(ctx, bad, nil); return err }(),
		"AcquireLease": func() error { _, err := s.AcquireLease(ctx, sdk.LeaseRequest{Key: bad}); return err }(),
	} {
		if !errors.Is(err, wire.ErrInvalidKey) || errors.Is(err, wire.ErrInternal) {
			t.Errorf("%s = %v, want ErrInvalidKey", name, err)
		}
	}
}

func TestAContextThatIsDoneSendsNothing(t *testing.T) {
	t.Parallel()
	s, _ := opened(t, &scripted{answer: func(context.Context, string) error { return errors.New("reached") }})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, operation := range everyOperation() {
		if _, err := operation(ctx, s); err != context.Canceled {
			t.Errorf("%s = %v, want context.Canceled and nothing else", name, err)
		}
	}
}

func TestAContextThatEndsInFlight(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{}, 1)
	s, _ := opened(t, &scripted{answer: func(ctx context.Context, _ string) error {
		entered <- struct{}{}
		<-ctx.Done()
		return errors.New("too late to be heard")
	}})
	for name, operation := range everyOperation() {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-entered
			cancel()
		}()
		_, err := operation(ctx, s)
		if !errors.Is(err, context.Canceled) || errors.Is(err, wire.ErrMaybeApplied) == reading[name] {
			t.Errorf("%s = %v: only a write may have been applied", name, err)
		}
	}
}

func TestADeadlineReachesTheStore(t *testing.T) {
	t.Parallel()
	s, _ := opened(t, &scripted{answer: func(ctx context.Context, _ string) error {
		<-ctx.Done()
		return ctx.Err()
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, _, err := s.Get(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Get = %v", err)
	}
}

func TestADriverThatGoesAwayInFlight(t *testing.T) {
	t.Parallel()
	for name, operation := range everyOperation() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var begun atomic.Bool
			l := newCuttable()
			store := &scripted{answer: func(ctx context.Context, _ string) error {
				begun.Store(true)
				l.cut()
				<-ctx.Done()
				return ctx.Err()
			}}
			s := overCuttable(t, l, store)
			_, err := operation(t.Context(), s)
			lost, ok := errors.AsType[*transportError](err)
			if !begun.Load() || !ok || !lost.sent {
				t.Fatalf("%s = %v, want a transport error after it was sent", name, err)
			}
			if errors.Is(err, wire.ErrMaybeApplied) == reading[name] || errors.Is(err, wire.ErrDriverUnavailable) != reading[name] {
				t.Errorf("%s = %v: a write may have been applied, a read changes nothing", name, err)
			}
			_, err = operation(t.Context(), s)
			lost, ok = errors.AsType[*transportError](err)
			if !ok || lost.sent || errors.Is(err, wire.ErrMaybeApplied) || !errors.Is(err, wire.ErrDriverUnavailable) || !errors.Is(err, wire.ErrUnavailable) {
				t.Errorf("%s without a connection = %v, want ErrDriverUnavailable: it never left", name, err)
			}
		})
	}
}

// cuttable is a network of one connection that can break.
type cuttable struct {
	mu    sync.Mutex
	conns []net.Conn
	gone  bool
}

func newCuttable() *cuttable { return &cuttable{} }

func (c *cuttable) keep(conn net.Conn) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		conn.Close()
		return nil, errors.New("nobody is there")
	}
	c.conns = append(c.conns, conn)
	return conn, nil
}

func (c *cuttable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	for _, conn := range c.conns {
		conn.Close()
	}
}

func TestClosingTheConnectionIsNoCancellation(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	s, far := opened(t, &scripted{answer: func(ctx context.Context, _ string) error {
		close(entered)
		<-ctx.Done()
		return ctx.Err()
	}})
	go func() {
		<-entered
		far.cc.Close()
	}()
	_, _, err := s.Get(t.Context(), "k")
	if _, ok := errors.AsType[*transportError](err); !ok || errors.Is(err, context.Canceled) {
		t.Errorf("Get = %v, want a transport error: the caller cancelled nothing", err)
	}
	err = s.Set(t.Context(), "k", nil, 0)
	if _, ok := errors.AsType[*transportError](err); !ok || errors.Is(err, context.Canceled) || errors.Is(err, wire.ErrMaybeApplied) {
		t.Errorf("Set on a closed connection = %v", err)
	}
}

func TestANumberThatTheProcessDoesNotKnow(t *testing.T) {
	t.Parallel()
	s, _ := opened(t, &mapStore{})
	other := *s
	other.number++
	if _, _, err := other.Get(t.Context(), "k"); !errors.Is(err, wire.ErrNotOpen) {
		t.Errorf("Get = %v, want ErrNotOpen", err)
	}
	if err := other.Close(t.Context()); err != nil {
		t.Errorf("Close = %v: what is not open is closed", err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("Close = %v", err)
	}
	if err := s.Set(t.Context(), "k", nil, 0); !errors.Is(err, wire.ErrNotOpen) || errors.Is(err, wire.ErrMaybeApplied) {
		t.Errorf("Set after Close = %v, want ErrNotOpen", err)
	}
}

func TestCloseLetsCallsEnd(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	s, _ := opened(t, &scripted{answer: func(context.Context, string) error {
		close(entered)
		<-leave
		return nil
	}})
	got := make(chan error, 1)
	go func() {
		_, _, err := s.Get(t.Context(), "k")
		got <- err
	}()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Close = %v, want its deadline", err)
	}
	if err := s.Set(t.Context(), "k", nil, 0); !errors.Is(err, wire.ErrClosed) {
		t.Errorf("Set while closing = %v, want ErrClosed", err)
	}
	close(leave)
	if err := <-got; err != nil {
		t.Errorf("the call that was running = %v", err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("Close again = %v", err)
	}
}

// A plain driver speaks gRPC and knows nothing of trailers.
type plainDriver struct {
	driverpb.UnimplementedDriverServer
	code codes.Code
}

func (p plainDriver) Get(context.Context, *driverpb.KeyRequest) (*driverpb.ValueReply, error) {
	return nil, status.Error(p.code, "its words")
}

func (p plainDriver) Set(context.Context, *driverpb.SetRequest) (*driverpb.Empty, error) {
	return nil, status.Error(p.code, "its words")
}

func (p plainDriver) Open(context.Context, *driverpb.OpenRequest) (*driverpb.OpenReply, error) {
	return &driverpb.OpenReply{Store: 1, Capabilities: []string{"pull", "add"}}, nil
}

func (p plainDriver) Pull(context.Context, *driverpb.KeyRequest) (*driverpb.ValueReply, error) {
	return &driverpb.ValueReply{Found: true, Value: make([]byte, wire.MaxFrame)}, nil
}

func TestADriverWithoutTheTrailer(t *testing.T) {
	t.Parallel()
	for code, tc := range map[codes.Code]struct {
		sentinel error
		applied  bool // a write may have been
	}{
		codes.Unknown:            {nil, true},
		codes.Internal:           {wire.ErrInternal, true},
		codes.DataLoss:           {wire.ErrCorrupt, true},
		codes.Aborted:            {nil, true},
		codes.DeadlineExceeded:   {context.DeadlineExceeded, true},
		codes.InvalidArgument:    {nil, false},
		codes.NotFound:           {nil, false},
		codes.FailedPrecondition: {nil, false},
		codes.OutOfRange:         {wire.ErrOverflow, false},
		codes.ResourceExhausted:  {wire.ErrTooLarge, false},
		codes.Unimplemented:      {errors.ErrUnsupported, false},
		codes.PermissionDenied:   {nil, false},
	} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			s, err := foreign(t, plainDriver{code: code}).conn.open(t.Context(), "s", nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = s.Get(t.Context(), "k")
			if err == nil || !strings.Contains(err.Error(), "its words") || tc.sentinel != nil && !errors.Is(err, tc.sentinel) || errors.Is(err, wire.ErrMaybeApplied) {
				t.Errorf("Get = %v", err)
			}
			err = s.Set(t.Context(), "k", nil, 0)
			if errors.Is(err, wire.ErrMaybeApplied) != tc.applied || tc.sentinel != nil && !errors.Is(err, tc.sentinel) {
				t.Errorf("Set = %v", err)
			}
			if _, isTransport := errors.AsType[*transportError](err); isTransport {
				t.Errorf("Set = %v, which is no fault of the connection", err)
			}
		})
	}
}

func TestAPlainDriversAnnouncement(t *testing.T) {
	t.Parallel()
	s, err := foreign(t, plainDriver{}, grpc.MaxSendMsgSize(2*wire.MaxFrame)).conn.open(t.Context(), "s", nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Traits(); got.Granularity != time.Millisecond || got.MaxKey != wire.MaxKey || got.Class != sdk.ClassOverlap {
		t.Errorf("traits = %+v, want the defaults", got)
	}
	if !slices.Equal(s.Capabilities(), sdk.Capabilities{sdk.CanAdd, sdk.CanPull}) {
		t.Errorf("capabilities = %v, want them sorted", s.Capabilities())
	}
	if _, err := s.Increment(t.Context(), "k", 1, 0); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a call that it does not have = %v, want ErrUnsupported", err)
	}
	if _, _, err := s.Pull(t.Context(), "k"); !errors.Is(err, wire.ErrTooLarge) || !errors.Is(err, wire.ErrMaybeApplied) {
		t.Errorf("Pull of what can't be received = %v, want it known that it may be gone", err)
	}
}
