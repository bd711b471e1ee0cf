package core_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

// A slowLog prints the operations that take long. It keeps what it needs between
// the ends of a call in the context.
type slowLog struct{ limit time.Duration }

type begunKey struct{}

func (slowLog) Start(ctx context.Context, c cache.Call) (context.Context, error) {
	return context.WithValue(ctx, begunKey{}, time.Now()), nil
}

func (s slowLog) End(ctx context.Context, c cache.Call, o cache.Outcome) error {
	if begun := ctx.Value(begunKey{}).(time.Time); time.Since(begun) >= s.limit {
		fmt.Println(c.Op, c.Store, c.Driver, o.Hits, o.Err)
	}
	return o.Err
}

// A hook meets every call.
func ExampleHook() {
	ctx := context.Background()
	var hook cache.Hook = slowLog{limit: 0}
	caches, err := cache.OpenConfig(ctx, cache.Config{
		Default: "main",
		Stores:  map[string]cache.StoreConfig{"main": {Driver: "memory"}},
	}, cache.WithHook(hook))
	if err != nil {
		log.Fatal(err)
	}
	defer caches.Close(ctx)
	_, _ = caches.Get(ctx, "k")
	var op cache.Op = cache.OpGet
	fmt.Println(op)
	// Output:
	// get main memory 0 <nil>
	// get
}

// upperCodec is for text that is stored in capitals, as another program reads it.
type upperCodec struct{}

func (upperCodec) Name() string { return "upper" }

func (upperCodec) Encode(v any) ([]byte, error) {
	text, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("%w: the codec upper takes text, not %T", cache.ErrWrongType, v)
	}
	return []byte(strings.ToUpper(text)), nil
}

func (upperCodec) IsNull([]byte) bool { return false }

func (upperCodec) Decode(data []byte, dst any) error {
	text, ok := dst.(*string)
	if !ok {
		return fmt.Errorf("%w: it holds text", cache.ErrWrongType)
	}
	*text = string(data)
	return nil
}

func init() { cache.RegisterCodec(upperCodec{}) }

// A codec that is registered has a name in configurations.
func ExampleRegisterCodec() {
	ctx := context.Background()
	caches, err := cache.OpenConfig(ctx, cache.Config{
		Default: "main",
		Stores:  map[string]cache.StoreConfig{"main": {Driver: "memory", Codec: "upper"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer caches.Close(ctx)
	_ = caches.Set(ctx, "greeting", "hello", time.Minute)
	greeting, _, err := cache.Of[string](caches).Get(ctx, "greeting")
	fmt.Println(greeting, err)
	// Output: HELLO <nil>
}

// WithCodec looks at the same store through another codec.
func ExampleCacheRepository_WithCodec() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)
	store := concrete(caches) // its codec is cache.JSON

	var raw cache.Codec = cache.Raw
	_ = store.WithCodec(raw).Set(ctx, "page", []byte(`{"Name":"Ada"}`), time.Minute)
	a, _, err := cache.Of[account](store).Get(ctx, "page")
	fmt.Println(a.Name, err, cache.JSON.Name())
	// Output: Ada <nil> json
}

// A tool opens the stores of another program, whose codec it doesn't have, and
// sees bytes.
func ExampleWithForeignCodecs() {
	folder, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "config.yaml")
	_ = os.WriteFile(path, []byte("default: main\nstores: {main: {driver: memory, codec: protobuf}}\n"), 0o600)

	ctx := context.Background()
	_, err := cache.Open(ctx, path)
	fmt.Println(errors.Is(err, cache.ErrInvalidConfig))
	caches, err := cache.Open(ctx, path, cache.WithForeignCodecs())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(caches.Close(ctx))
	// Output:
	// true
	// <nil>
}

// A configuration that a program makes has all that a file may have. The layers
// of compression and encryption are linked by packages below codecs.
func ExampleConfig() {
	lease := 10 * time.Second
	config := cache.Config{
		Default: "sessions",
		Prefix:  "shop",
		Drivers: map[string]cache.DriverConfig{
			"acme": {Run: "command", Command: []string{"./acme"}, StartTimeout: 20 * time.Second},
		},
		Stores: map[string]cache.StoreConfig{
			"search": {Driver: "acme"},
			"jobs":   {Driver: "memory", Lock: cache.LockConfig{Strategy: "exclusive", Lease: &lease}},
			"sessions": {
				Driver:     "redis",
				Timeout:    500 * time.Millisecond,
				DefaultTTL: 20 * time.Minute,
				OnError:    "miss",
				Compress:   cache.CompressConfig{Algorithm: "zstd", Above: 4096},
				Encrypt:    cache.EncryptConfig{Keys: map[string]string{"2026": strings.Repeat("0f", 32)}},
				Options:    map[string]any{"addr": "127.0.0.1:6379"},
			},
		},
	}
	ctx := context.Background()
	caches, err := cache.OpenConfig(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer caches.Close(ctx)
	for _, s := range caches.Stores() {
		fmt.Println(s.Name, s.Driver, s.Prefix)
	}
	// Output:
	// jobs memory shop
	// search acme shop
	// sessions redis shop
}
