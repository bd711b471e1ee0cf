package sdk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/internal/wire/driverpb"
)

// connect serves d through real gRPC until the test ends.
func connect(t testing.TB, d Driver) driverpb.DriverClient {
	t.Helper()
	return driverpb.NewDriverClient(connection(t, d))
}

func connection(t testing.TB, d Driver) *grpc.ClientConn {
	t.Helper()
	l := bufconn.Listen(1 << 20)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- ServeListener(ctx, d, l) }()
	cc, err := grpc.NewClient("passthrough:///test",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(2*wire.MaxFrame), grpc.MaxCallSendMsgSize(2*wire.MaxFrame)),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cc.Close()
		cancel()
		if err := <-served; err != nil {
			t.Errorf("ServeListener = %v", err)
		}
	})
	return cc
}

// serving opens one store of a driver whose open function returns s.
func serving(t testing.TB, s Store) (driverpb.DriverClient, uint64) {
	t.Helper()
	client := connect(t, Define("test", "1.2.3", func(context.Context, struct{}) (Store, error) { return s, nil }))
	opened, err := client.Open(t.Context(), &driverpb.OpenRequest{Name: "s", Protocol: wire.ProtocolMax})
	if err != nil {
		t.Fatal(err)
	}
	return client, opened.Store
}

// names are the sentinels that the failed call's trailer lists.
func names(trailer metadata.MD) string { return strings.Join(trailer.Get(wire.ErrorTrailer), ";") }

func TestDescribeSaysWhatTheDriverIs(t *testing.T) {
	t.Parallel()
	got, err := connect(t, define[everything]()).Describe(t.Context(), &driverpb.DescribeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "test" || got.Version != "1" || got.ProtocolMin != wire.ProtocolMin || got.ProtocolMax != wire.ProtocolMax || got.BuildId != wire.BuildID() {
		t.Errorf("Describe = %v", got)
	}
	if len(got.Schema) != 14 || !got.Schema[0].Required || got.Schema[0].Kind != "path" || !got.Schema[10].Secret || !slices.Equal(got.Schema[1].Enum, []string{"safe", "fast"}) {
		t.Errorf("schema = %v", got.Schema)
	}
}

func TestOpenRefusesWhatIsNotOptions(t *testing.T) {
	t.Parallel()
	client := connect(t, define[everything]())
	for name, tc := range map[string]struct {
		options  string
		problems string
	}{
		"not JSON":            {`{"path": hunter2}`, ""},
		"a list":              {`["hunter2"]`, ""},
		"a text":              {`"hunter2"`, ""},
		"two objects":         {`{"path": "x"} {"path": "hunter2"}`, ""},
		"cut short":           {`{"path": "hunter2`, ""},
		"nested without end":  {strings.Repeat(`{"a":`, 20_000), ""},
		"unknown and missing": {`{"hunter": 2}`, `"key":"path"`},
		"an infinite number":  {`{"path": "x", "ratio": 1e999}`, `"key":"ratio"`},
		"an endless integer":  {`{"path": "x", "big": ` + strings.Repeat("9", 100_000) + `}`, `"key":"big"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var trailer metadata.MD
			_, err := client.Open(t.Context(), &driverpb.OpenRequest{Options: []byte(tc.options), Protocol: 1}, grpc.Trailer(&trailer))
			if status.Code(err) != codes.InvalidArgument || names(trailer) != "invalid-options" {
				t.Fatalf("Open = %v, trailer %v", err, trailer)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v shows the options", err)
			}
			if problems := strings.Join(trailer.Get(wire.ProblemsTrailer), ""); !strings.Contains(problems, tc.problems) {
				t.Errorf("problems = %s, want %s among them", problems, tc.problems)
			}
		})
	}
}

func TestOpenRefusesAProtocolItDoesNotSpeak(t *testing.T) {
	t.Parallel()
	client := connect(t, define[struct{}]())
	_, err := client.Open(t.Context(), &driverpb.OpenRequest{Protocol: 7})
	if err == nil || !strings.Contains(err.Error(), "speaks 1 to 1, the other 7 to 7") {
		t.Errorf("Open = %v, want an error that names both ranges", err)
	}
}

func TestASlowOpenDelaysNoOther(t *testing.T) {
	t.Parallel()
	slow := make(chan struct{})
	d := Define("test", "1", func(_ context.Context, o struct {
		Slow bool `option:"slow"`
	}) (*fakeStore, error) {
		if o.Slow {
			<-slow
		}
		return &fakeStore{}, nil
	})
	client := connect(t, d)
	opened := make(chan error, 1)
	go func() {
		_, err := client.Open(t.Context(), &driverpb.OpenRequest{Options: []byte(`{"slow": true}`), Protocol: 1})
		opened <- err
	}()
	for range 3 {
		if _, err := client.Open(t.Context(), &driverpb.OpenRequest{Protocol: 1}); err != nil {
			t.Fatal(err)
		}
	}
	close(slow)
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

func TestEveryCallOnAnUnknownNumberSaysSo(t *testing.T) {
	t.Parallel()
	client, number := serving(t, &fakeStore{})
	for name, call := range everyCall(client, number+1) {
		var trailer metadata.MD
		err := call(t.Context(), grpc.Trailer(&trailer))
		if status.Code(err) != codes.NotFound || names(trailer) != "not-open" {
			t.Errorf("%s = %v, trailer %v", name, err, trailer)
		}
	}
}

func TestAClosedNumberIsUnknown(t *testing.T) {
	t.Parallel()
	s := &fakeStore{}
	client, number := serving(t, s)
	if _, err := client.Close(t.Context(), &driverpb.StoreRequest{Store: number}); err != nil {
		t.Fatal(err)
	}
	var trailer metadata.MD
	_, err := client.Get(t.Context(), &driverpb.KeyRequest{Store: number, Key: "k"}, grpc.Trailer(&trailer))
	if names(trailer) != "not-open" || s.closed.Load() != 1 {
		t.Errorf("Get = %v, closed %d times", err, s.closed.Load())
	}
}

func TestEveryCallTurnsAPanicIntoAnError(t *testing.T) {
	t.Parallel()
	client, number := serving(t, &panickingStore{})
	for name, call := range everyCall(client, number) {
		var trailer metadata.MD
		err := call(t.Context(), grpc.Trailer(&trailer))
		if got := names(trailer); !strings.Contains(got, "internal") || strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("%s = %v, trailer %v", name, err, trailer)
		}
	}
	if _, err := client.Describe(t.Context(), &driverpb.DescribeRequest{}); err != nil {
		t.Errorf("Describe after the panics = %v", err)
	}
}

func TestKeysAndTTLsThatNoStoreExpectsReachNone(t *testing.T) {
	t.Parallel()
	client, number := serving(t, &fakeStore{before: func(_ context.Context, op, _ string) error {
		if op == "close" {
			return nil
		}
		return errors.New("reached")
	}})
	for _, key := range []string{"", "a\x00b", strings.Repeat("k", wire.MaxKey+wire.MaxSuffix+1)} {
		for name, call := range map[string]func(...grpc.CallOption) error{
			"Get": func(o ...grpc.CallOption) error {
				_, err := client.Get(t.Context(), &driverpb.KeyRequest{Store: number, Key: key}, o...)
				return err
			},
			"GetMany": func(o ...grpc.CallOption) error {
				_, err := client.GetMany(t.Context(), &driverpb.GetManyRequest{Store: number, Keys: []string{"k", key}}, o...)
				return err
			},
			"SetMany": func(o ...grpc.CallOption) error {
				_, err := client.SetMany(t.Context(), &driverpb.SetManyRequest{Store: number, Entries: []*driverpb.Entry{{Key: key}}}, o...)
				return err
			},
			"DeleteMany": func(o ...grpc.CallOption) error {
				_, err := client.DeleteMany(t.Context(), &driverpb.DeleteManyRequest{Store: number, Keys: []string{key}}, o...)
				return err
			},
		} {
			var trailer metadata.MD
			if err := call(grpc.Trailer(&trailer)); names(trailer) != "invalid-key" {
				t.Errorf("%s(%.8q) = %v, want invalid-key", name, key, err)
			}
		}
	}
	var trailer metadata.MD
	_, err := client.Set(t.Context(), &driverpb.SetRequest{Store: number, Key: "k", Ttl: -1}, grpc.Trailer(&trailer))
	if names(trailer) != "invalid-ttl" {
		t.Errorf("Set with a negative TTL = %v", err)
	}
	_, err = client.AcquireLease(t.Context(), &driverpb.LeaseRequest{Store: number, Key: "k"}, grpc.Trailer(&trailer))
	if names(trailer) != "invalid-ttl" {
		t.Errorf("AcquireLease without a lease = %v", err)
	}
}

func TestAValueThatNoMessageCarriesIsNamedWithItsSize(t *testing.T) {
	t.Parallel()
	huge := make([]byte, wire.MaxValue+1)
	client, number := serving(t, &fakeStore{entries: map[string][]byte{"huge": huge, "small": []byte("x")}})
	want := fmt.Sprintf("%d bytes, and a message carries at most %d", len(huge), wire.MaxValue)
	var trailer metadata.MD
	_, err := client.Get(t.Context(), &driverpb.KeyRequest{Store: number, Key: "huge"}, grpc.Trailer(&trailer))
	if names(trailer) != "too-large" || !strings.Contains(err.Error(), want) {
		t.Errorf("Get = %v, %v", err, trailer)
	}
	many, err := client.GetMany(t.Context(), &driverpb.GetManyRequest{Store: number, Keys: []string{"small"}})
	if err != nil || len(many.Items) != 1 {
		t.Errorf("GetMany = %v, %v", many, err)
	}
	many, err = client.GetMany(t.Context(), &driverpb.GetManyRequest{Store: number, Keys: []string{"huge"}})
	if err != nil || many.Items[0].Failure.GetError() != "too-large" {
		t.Errorf("GetMany = %v, %v, want a failure of that key", many, err)
	}
	_, err = client.Pull(t.Context(), &driverpb.KeyRequest{Store: number, Key: "huge"}, grpc.Trailer(&trailer))
	if names(trailer) != "maybe-applied,too-large" {
		t.Errorf("Pull = %v, %v: it removed what it could not send", err, trailer)
	}
}

func TestAMessageAboveTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	client, number := serving(t, &fakeStore{})
	_, err := client.Set(t.Context(), &driverpb.SetRequest{Store: number, Key: "k", Value: make([]byte, wire.MaxFrame)})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("Set = %v, want ResourceExhausted", err)
	}
	if _, err := client.Get(t.Context(), &driverpb.KeyRequest{Store: number, Key: "k"}); err != nil {
		t.Errorf("the connection did not survive: %v", err)
	}
}

func TestABatchOfTooManyKeysIsRefused(t *testing.T) {
	t.Parallel()
	client, number := serving(t, &fakeStore{})
	keys := make([]string, wire.MaxBatchKeys+1)
	for i := range keys {
		keys[i] = fmt.Sprint(i)
	}
	var trailer metadata.MD
	_, err := client.DeleteMany(t.Context(), &driverpb.DeleteManyRequest{Store: number, Keys: keys}, grpc.Trailer(&trailer))
	if names(trailer) != "too-large" {
		t.Errorf("DeleteMany = %v", err)
	}
	reply, err := client.GetMany(t.Context(), &driverpb.GetManyRequest{Store: number, Keys: keys})
	if err != nil || len(reply.Items) != wire.MaxBatchKeys {
		t.Errorf("GetMany answered %d keys, %v", len(reply.GetItems()), err)
	}
}

// A strayBatcher complains of a key that it was not given.
type strayBatcher struct{ *halfBatcher }

func (*strayBatcher) SetMany(context.Context, []Entry) error {
	return &BatchError{[]KeyError{{"stray", ErrUnavailable}}}
}

func TestAFailureOfAStrayKeyIsOneOfTheBatch(t *testing.T) {
	t.Parallel()
	client, number := serving(t, &strayBatcher{&halfBatcher{fakeStore: &fakeStore{}}})
	var trailer metadata.MD
	_, err := client.SetMany(t.Context(), &driverpb.SetManyRequest{Store: number, Entries: []*driverpb.Entry{{Key: "k"}}}, grpc.Trailer(&trailer))
	if names(trailer) != "unavailable" {
		t.Errorf("SetMany = %v, %v", err, trailer)
	}
}

func TestACallWithoutADeadlineGetsOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{before: func(ctx context.Context, op, _ string) error {
			if op != "get" {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}}
		srv := newServer(Define("test", "1", func(context.Context, struct{}) (*fakeStore, error) { return s, nil }), "")
		opened, err := srv.Open(t.Context(), &driverpb.OpenRequest{Protocol: 1})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		_, err = guard(t.Context(), nil, &grpc.UnaryServerInfo{}, func(ctx context.Context, _ any) (any, error) {
			return srv.Get(ctx, &driverpb.KeyRequest{Store: opened.Store, Key: "k"})
		})
		if status.Code(err) != codes.DeadlineExceeded || time.Since(begun) != wire.DefaultDeadline {
			t.Errorf("Get = %v after %v", err, time.Since(begun))
		}
		_, err = guard(t.Context(), nil, &grpc.UnaryServerInfo{}, func(ctx context.Context, _ any) (any, error) {
			return srv.WaitLease(ctx, &driverpb.LeaseRequest{Store: opened.Store, Key: "k", Lease: 1})
		})
		if err != nil {
			t.Errorf("WaitLease = %v, want no news: the waiter asks again", err)
		}
		if err := srv.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestTheDeadlineOfACallReachesTheStore(t *testing.T) {
	t.Parallel()
	seen := make(chan time.Time, 1)
	client, number := serving(t, &fakeStore{before: func(ctx context.Context, op, _ string) error {
		if op == "get" {
			deadline, _ := ctx.Deadline()
			seen <- deadline
		}
		return nil
	}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if _, err := client.Get(ctx, &driverpb.KeyRequest{Store: number, Key: "k"}); err != nil {
		t.Fatal(err)
	}
	want, _ := ctx.Deadline()
	if got := <-seen; got.Sub(want).Abs() > time.Minute {
		t.Errorf("the store saw %v, want about %v", got, want)
	}
}

func TestStoppingLetsCallsEndAndClosesTheStores(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	s := &fakeStore{before: func(_ context.Context, op, _ string) error {
		if op == "get" {
			close(entered)
			<-leave
		}
		return nil
	}}
	srv := newServer(Define("test", "1", func(context.Context, struct{}) (*fakeStore, error) { return s, nil }), "")
	opened, err := srv.Open(t.Context(), &driverpb.OpenRequest{Protocol: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := srv.Get(context.Background(), &driverpb.KeyRequest{Store: opened.Store, Key: "k"})
		got <- err
	}()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- srv.stop() }()
	close(leave)
	if err := <-got; err != nil {
		t.Errorf("the running call = %v", err)
	}
	if err := <-stopped; err != nil || s.closed.Load() != 1 {
		t.Errorf("stop = %v, closed %d times", err, s.closed.Load())
	}
	if _, err := srv.Open(t.Context(), &driverpb.OpenRequest{Protocol: 1}); !errors.Is(err, ErrClosed) {
		t.Errorf("Open after stop = %v, want ErrClosed", err)
	}
}

func TestStoppingCutsCallsThatDoNotEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{before: func(_ context.Context, op, _ string) error {
			if op == "get" {
				time.Sleep(wire.StopTimeout + wire.StopTimeout/8)
			}
			return nil
		}}
		srv := newServer(Define("test", "1", func(context.Context, struct{}) (*fakeStore, error) { return s, nil }), "")
		opened, err := srv.Open(t.Context(), &driverpb.OpenRequest{Protocol: 1})
		if err != nil {
			t.Fatal(err)
		}
		go srv.Get(t.Context(), &driverpb.KeyRequest{Store: opened.Store, Key: "k"})
		synctest.Wait()
		if err := srv.stop(); err != nil || s.closed.Load() != 1 {
			t.Errorf("stop = %v, closed %d times, want the store closed in the moment after", err, s.closed.Load())
		}
	})
}

func TestHealthIsServedUnderGoPluginsName(t *testing.T) {
	t.Parallel()
	client := grpc_health_v1.NewHealthClient(connection(t, define[struct{}]()))
	got, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "plugin"})
	if err != nil || got.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("Check = %v, %v", got, err)
	}
}

func TestServeListenerRefusesABadDefinition(t *testing.T) {
	t.Parallel()
	if err := ServeListener(t.Context(), Driver{}, bufconn.Listen(1)); err == nil {
		t.Error("it served")
	}
}

func TestStoresOfOneDriverAreApart(t *testing.T) {
	t.Parallel()
	client := connect(t, define[struct{}]())
	var numbers []uint64
	for range 3 {
		opened, err := client.Open(t.Context(), &driverpb.OpenRequest{Protocol: 1})
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, opened.Store)
	}
	if _, err := client.Set(t.Context(), &driverpb.SetRequest{Store: numbers[0], Key: "k", Value: []byte("v")}); err != nil {
		t.Fatal(err)
	}
	for i, number := range numbers {
		got, err := client.Get(t.Context(), &driverpb.KeyRequest{Store: number, Key: "k"})
		if err != nil || got.Found != (i == 0) || got.Found && !bytes.Equal(got.Value, []byte("v")) {
			t.Errorf("store %d: %v, %v", i, got, err)
		}
	}
}
