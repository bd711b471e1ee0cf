package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// openShelf opens a store in this process, as a test of a driver's own would.
func openShelf() *sdk.Instance {
	d := sdk.Define("shelf", "1.0.0", newShelf)
	in, err := d.Open(context.Background(), nil)
	if err != nil {
		log.Fatal(err)
	}
	return in
}

// A struct with tags is a driver's options: schema, defaults and checks.
func ExampleDefine() {
	type options struct {
		Path  string            `option:"path,required,path" doc:"where entries live"`
		Max   sdk.Bytes         `option:"max_bytes" default:"64MiB" doc:"what entries may take"`
		Sync  string            `option:"sync" default:"none" enum:"none,data" doc:"how safe a write is"`
		Pause time.Duration     `option:"pause" default:"1s" doc:"between two sweeps"`
		Pass  string            `option:"password,secret" doc:"of the server"`
		Tags  map[string]string `option:"tags" doc:"passed on"`
	}
	d := sdk.Define("acme", "1.0.0", func(_ context.Context, o options) (*shelf, error) {
		if o.Sync == "data" && o.Pause < time.Second { // a rule that spans options
			return nil, &sdk.OptionsError{Problems: []sdk.Problem{{Key: "pause", Reason: "is at least 1s with sync: data"}}}
		}
		return newShelf(context.Background(), struct{}{})
	})
	fmt.Println(d.Name, d.Version, d.Err())

	var schema sdk.Schema = d.Schema
	var option sdk.Option
	option, _ = schema.Lookup("max_bytes")
	fmt.Println(option.Kind == sdk.KindBytes, option.Default, option.Doc)
	for _, problem := range schema.Check(map[string]any{"pause": 60, "pth": "./x"}) {
		fmt.Println(problem)
	}
	_, err := d.Open(context.Background(), map[string]any{"path": "./x", "sync": "data", "pause": "10ms"})
	fmt.Println(errors.Is(err, sdk.ErrInvalidOptions))
	// Output:
	// acme 1.0.0 <nil>
	// true 64MiB what entries may take
	// path: is required
	// pause: wants a duration with a unit, such as 60s
	// pth: is not an option; there are path, max_bytes, sync, pause, password, tags
	// true
}

// An instance has every operation, and refuses what the store didn't announce.
func ExampleDriver_Open() {
	ctx := context.Background()
	var d sdk.Driver = sdk.Define("acme", "1.0.0", open) // the driver of the example of Serve
	in, err := d.Open(ctx, map[string]any{"max_value": "1KiB"})
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close(ctx)

	_ = in.Set(ctx, "k", []byte("v"), time.Minute)
	value, ok, err := in.Get(ctx, "k")
	fmt.Println(string(value), ok, err)
	_, err = in.Add(ctx, "k", nil, sdk.NoExpiry)
	fmt.Println(in.Capabilities().Has(sdk.CanAdd), errors.Is(err, errors.ErrUnsupported))
	// Output:
	// v true <nil>
	// false true
}

// What a store implements is what it can do.
func ExampleCapabilities() {
	ctx, in := context.Background(), openShelf()
	defer in.Close(ctx)

	var can sdk.Capabilities = in.Capabilities()
	for _, c := range []sdk.Capability{sdk.CanReplace, sdk.CanPull, sdk.CanCompareDelete, sdk.CanInspect, sdk.CanList} {
		fmt.Println(c, can.Has(c))
	}
	replaced, _ := in.Replace(ctx, "absent", []byte("v"), sdk.NoExpiry)
	_, pulled, _ := in.Pull(ctx, "absent")
	deleted, _ := in.CompareDelete(ctx, "absent", []byte("v"))
	_, there, err := in.TTL(ctx, "absent")
	fmt.Println(replaced, pulled, deleted, there, err)
	// Output:
	// replace true
	// pull true
	// compare-delete true
	// inspect true
	// list true
	// false false false false <nil>
}

// Facts that no interface tells are traits. A store that turns out to have less
// than its type withdraws it.
func ExampleTraits() {
	without := func(server string) sdk.Traits {
		t := sdk.Traits{
			LockStrategy: sdk.StrategyRedlock,
			LockScope:    sdk.ScopeCluster,
			Class:        sdk.ClassOverlap,
			Space:        server, // who shares it shares local locks
		}
		if strings.HasSuffix(server, ":readonly") {
			t.Withdrawn = []sdk.Capability{sdk.CanClear}
		}
		return t
	}
	t := without("cache.internal:readonly").WithDefaults()
	var dispatch sdk.Dispatch = t.Dispatch
	var scope sdk.Scope = t.LockScope
	var class sdk.Class = t.Class
	fmt.Println(t.Granularity, t.MaxKey, t.ShortestLease, scope, class, t.Withdrawn, dispatch == sdk.DispatchApart)
	// Output: 1ms 1024 1s cluster overlap [clear] true
}

// Counters are text, and the sdk reads and writes it.
func ExampleAddInteger() {
	sum, err := sdk.AddInteger([]byte("41"), 1)
	fmt.Println(sum, err)
	_, err = sdk.AddInteger([]byte("0x29"), 1)
	fmt.Println(errors.Is(err, sdk.ErrNotInteger))
	_, err = sdk.AddInteger([]byte("9223372036854775807"), 1)
	fmt.Println(errors.Is(err, sdk.ErrOverflow))
	n, ok := sdk.ParseInteger(sdk.FormatInteger(-7))
	fmt.Println(n, ok)
	// Output:
	// 42 <nil>
	// true
	// true
	// -7 true
}

// A batch says which of its keys failed; the others have been stored.
func ExampleBatcher() {
	ctx, in := context.Background(), openShelf()
	defer in.Close(ctx)

	err := in.SetMany(ctx, []sdk.Entry{
		{Key: "small", Value: []byte("v"), TTL: time.Minute},
		{Key: "large", Value: make([]byte, 2000), TTL: time.Minute},
	})
	var batch *sdk.BatchError
	if errors.As(err, &batch) {
		var failed sdk.KeyError = batch.Failed[0]
		fmt.Println(failed.Key, errors.Is(failed, sdk.ErrTooLarge))
	}
	var found []sdk.Lookup
	found, err = in.GetMany(ctx, []string{"small", "large"})
	fmt.Println(found[0].OK, found[1].OK, err)
	// Output:
	// large true
	// true false <nil>
}

// Clear and Keys go in pages: a cursor of the store's own says where the next
// one begins.
func ExampleLister() {
	ctx, in := context.Background(), openShelf()
	defer in.Close(ctx)
	for _, key := range []string{"app:1", "app:2", "app:3", "other:1"} {
		_ = in.Set(ctx, key, nil, sdk.NoExpiry)
	}
	var cursor []byte
	for {
		keys, next, err := in.Keys(ctx, "app:", cursor, 2)
		fmt.Println(keys, err)
		if len(next) == 0 {
			break
		}
		cursor = next
	}
	_, removed, err := in.Clear(ctx, "app:", nil) // of a sdk.Clearer
	fmt.Println(removed, err)
	// Output:
	// [app:1 app:2] <nil>
	// [app:3] <nil>
	// 3 <nil>
}

// What a strategy needs of a store.
func Example_strategies() {
	needs := map[string][]sdk.Capability{
		sdk.StrategyLocal:     nil,
		sdk.StrategyRedlock:   {sdk.CanAdd},
		sdk.StrategyLease:     {sdk.CanLease},
		sdk.StrategyExclusive: {sdk.CanLease, sdk.CanRenewLease},
	}
	fmt.Println(needs[sdk.StrategyExclusive])
	// Output: [lease renew-lease]
}

// A lease is one owner's until it ends, and its fence rises from grant to grant.
func ExampleLeaser() {
	ctx, in := context.Background(), openShelf()
	defer in.Close(ctx)

	a := sdk.LeaseRequest{Strategy: sdk.StrategyExclusive, Key: "job", Owner: "a", Lease: time.Minute, Clock: sdk.BackendClock}
	b := a
	b.Owner = "b"
	var clock sdk.LeaseClock = a.Clock
	var first sdk.LeaseGrant
	first, _ = in.AcquireLease(ctx, a)
	refused, _ := in.AcquireLease(ctx, b)
	renewed, _ := in.RenewLease(ctx, a)
	released, _ := in.ReleaseLease(ctx, a)
	err := in.WaitLease(ctx, b) // woken up
	second, _ := in.AcquireLease(ctx, b)
	fmt.Println(first.OK, refused.OK, refused.Remaining > 0, renewed.Fence == first.Fence, released, second.Fence > first.Fence)
	fmt.Println(clock == sdk.DriverClock, err)
	// Output:
	// true false true true true true
	// false <nil>
}

// What an operator wants to know of a store and its backend.
func ExampleStatsReporter() {
	ctx, in := context.Background(), openShelf()
	defer in.Close(ctx)
	var stats []sdk.Stat
	stats, err := in.Stats(ctx)
	fmt.Println(stats[0].Name, stats[0].Value, in.Ping(ctx), err)
	// Output: entries 0 <nil> <nil>
}

// Bytes are a number, with a unit or without.
func ExampleParseBytes() {
	var most sdk.Bytes
	most, err := sdk.ParseBytes("64MiB")
	fmt.Println(int64(most), most, err)
	_, err = sdk.ParseBytes("many")
	fmt.Println(err != nil)
	// Output:
	// 67108864 64MiB <nil>
	// true
}

// A driver that runs by itself listens where hosts may attach to it, until its
// context ends.
func ExampleServeListener() {
	folder, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(folder)
	l, err := net.Listen("unix", filepath.Join(folder, "driver"))
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop() // at once, here
	fmt.Println(sdk.ServeListener(ctx, sdk.Define("shelf", "1.0.0", newShelf), l))
	// Output: <nil>
}

// A driver that traces makes its spans children of the call's.
func ExampleTraceContext() {
	ctx := context.Background() // a call's
	if traceparent, tracestate := sdk.TraceContext(ctx); traceparent != "" {
		fmt.Println("a child of", traceparent, tracestate)
	} else {
		fmt.Println("not traced")
	}
	// Output: not traced
}
