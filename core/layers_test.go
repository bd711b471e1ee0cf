package core_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/codecs/msgpack"
	_ "github.com/cachewright/cachewright/codecs/xchacha20poly1305"
	_ "github.com/cachewright/cachewright/codecs/zstd"
	cache "github.com/cachewright/cachewright/core"
)

const (
	keyA = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	keyB = "303132333435363738393031323334353637383930313233343536373839306f"
)

// layered opens a store "main" of the fake with both layers, under a codec.
func layered(t *testing.T, f *fake, codec string, opts ...cache.Option) *cache.CacheRepository {
	t.Helper()
	return repository(t, f.open(t, cache.Config{Prefix: "app", Stores: map[string]cache.StoreConfig{"main": {
		Driver: "fake", Codec: codec,
		Compress: cache.CompressConfig{Above: 100},
		Encrypt:  cache.EncryptConfig{Key: "a", Keys: map[string]string{"a": keyA, "b": keyB}},
	}}}, opts...), "main")
}

func TestEveryWriteIsSealedAndEveryReadOpensIt(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	secret := strings.Repeat("hunter2 ", 50)
	for _, codec := range []string{"json", "msgpack", "raw"} {
		f := newFake()
		r := layered(t, f, codec)
		must(t, r.Set(ctx, "set", secret, time.Minute))
		must2(t)(r.Add(ctx, "add", secret, time.Minute))
		must2(t)(r.Replace(ctx, "add", secret, time.Minute))
		must(t, r.SetMany(ctx, map[string]any{"many": secret}, time.Minute))
		must2(t)(r.Remember(ctx, "remember", time.Minute, constant(secret)))
		must2(t)(r.Remember(ctx, "stale", time.Minute, constant(secret), cache.StaleFor(time.Minute)))
		keys := []string{"set", "add", "many", "remember", "stale"}
		for _, key := range keys {
			stored, ok := f.stored("app:" + key)
			if !ok || strings.Contains(stored, "hunter2") || len(stored) > 200 || !strings.HasPrefix(stored, "\xC1CWS\x01\x01\x01\x01a") {
				t.Errorf("%s: %s is stored as %d bytes: %.20q", codec, key, len(stored), stored)
			}
		}
		many, err := r.GetMany(ctx, keys)
		if err != nil {
			t.Errorf("%s: GetMany: %v", codec, err)
		}
		for _, key := range keys {
			one, err := r.Get(ctx, key)
			remembered, err2 := r.Remember(ctx, key, time.Minute, never, cache.StaleFor(time.Minute))
			pulled, err3 := r.Pull(ctx, key)
			for i, v := range []cache.Value{one, many[key], remembered, pulled} {
				var got string
				if err := errors.Join(err, err2, err3, v.Decode(&got)); err != nil || got != secret {
					t.Errorf("%s: read %d of %s gives %d bytes, %v", codec, i, key, len(got), err)
				}
			}
		}
	}
}

func TestCountersStayIntegersUnderEveryLayer(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, codec := range []string{"json", "msgpack", "raw"} {
		f := newFake()
		r := layered(t, f, codec)
		must(t, r.Set(ctx, "n", 41, time.Minute))
		must(t, r.SetMany(ctx, map[string]any{"m": uint8(7)}, time.Minute))
		must2(t)(cache.Of[int64](r).Remember(ctx, "r", time.Minute, func(context.Context) (int64, error) { return -3, nil }))
		if n, err := r.Increment(ctx, "n", 1); n != 42 || err != nil {
			t.Errorf("%s: Increment = %d, %v", codec, n, err)
		}
		for key, want := range map[string]string{"n": "42", "m": "7", "r": "-3"} {
			if stored, _ := f.stored("app:" + key); stored != want {
				t.Errorf("%s: %s is stored as %q, want %s", codec, key, stored, want)
			}
			n, ok, err := cache.Of[int](r).Get(ctx, key)
			if fmt.Sprint(n) != want || !ok || err != nil {
				t.Errorf("%s: %s reads as %d, %t, %v", codec, key, n, ok, err)
			}
		}
	}
}

// What only looks like a counter is as secret as any other value.
func TestTextOfDigitsIsNoCounter(t *testing.T) {
	t.Parallel()
	f := newFake()
	r := layered(t, f, "raw")
	must(t, r.Set(t.Context(), "pin", "1234", time.Minute))
	if stored, _ := f.stored("app:pin"); stored == "1234" {
		t.Error("the text is stored as it is")
	}
	if _, err := r.Increment(t.Context(), "pin", 1); !errors.Is(err, cache.ErrNotInteger) {
		t.Errorf("Increment: %v; want ErrNotInteger", err)
	}
	if pin, ok, err := cache.Of[string](r).Get(t.Context(), "pin"); pin != "1234" || !ok || err != nil {
		t.Errorf("Get = %q, %t, %v", pin, ok, err)
	}
}

func TestNullIsANullUnderEveryLayer(t *testing.T) {
	t.Parallel()
	for _, codec := range []string{"json", "msgpack"} {
		f := newFake()
		r := layered(t, f, codec)
		must(t, r.Set(t.Context(), "k", nil, time.Minute))
		v, err := r.Remember(t.Context(), "k", time.Minute, never)
		if err != nil || !v.Found() || !v.IsNull() {
			t.Errorf("%s: %v, %v", codec, v, err)
		}
	}
}

func TestAnEntryMovedOrChangedIsCorrupt(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := newFake()
	hook := &recordingHook{}
	r := layered(t, f, "json", cache.WithHook(hook))
	must(t, r.SetMany(ctx, map[string]any{"mine": "a", "theirs": "b"}, time.Minute))
	theirs, _ := f.stored("app:theirs")
	f.plant("app:mine", theirs)
	f.plant("app:plain", `"no envelope"`)
	for key, reason := range map[string]string{"mine": "authentication failed", "plain": "no envelope"} {
		_, err := r.Get(ctx, key)
		if !errors.Is(err, cache.ErrCorrupt) || !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), key) {
			t.Errorf("Get(%s): %v", key, err)
		}
	}
	many, err := r.GetMany(ctx, []string{"mine", "theirs", "none"})
	var batch *cache.BatchError
	if !errors.As(err, &batch) || len(batch.Failed) != 1 || !errors.Is(batch.Failed["mine"], cache.ErrCorrupt) || !many["theirs"].Found() || many["none"].Found() {
		t.Errorf("GetMany = %v, %v", many, err)
	}
	hook.seen = nil
	v, err := r.Remember(ctx, "mine", time.Minute, constant("fresh"))
	var text string
	if err := errors.Join(err, v.Decode(&text)); err != nil || text != "fresh" || !strings.HasPrefix(hook.seen[1], "recompute mine") {
		t.Errorf("Remember = %q, %v; hooks saw %q", text, err, hook.seen)
	}
	if ok, err := r.Has(ctx, "plain"); !ok || err != nil {
		t.Errorf("Has = %t, %v", ok, err)
	}
	if added, err := r.Add(ctx, "plain", "v", time.Minute); added || err != nil {
		t.Errorf("Add = %t, %v", added, err)
	}
	if _, err := r.Increment(ctx, "plain", 1); !errors.Is(err, cache.ErrNotInteger) {
		t.Errorf("Increment: %v", err)
	}
	if _, err := r.Pull(ctx, "plain"); !errors.Is(err, cache.ErrCorrupt) {
		t.Errorf("Pull: %v", err)
	}
	f.plant("app:plain", "no envelope")
	if replaced, err := r.Replace(ctx, "plain", "v", time.Minute); !replaced || err != nil {
		t.Errorf("Replace = %t, %v", replaced, err)
	}
	if text, ok, err := cache.Of[string](r).Get(ctx, "plain"); text != "v" || !ok || err != nil {
		t.Errorf("replaced, it is %q, %t, %v", text, ok, err)
	}
}

func TestTheLayersAreTheStoresWhateverTheCodec(t *testing.T) {
	t.Parallel()
	f := newFake()
	r := layered(t, f, "json").WithCodec(msgpack.Codec)
	must(t, r.Set(t.Context(), "k", []byte("hunter2"), time.Minute))
	if stored, _ := f.stored("app:k"); strings.Contains(stored, "hunter2") {
		t.Error("stored as it is")
	}
	v, err := r.Get(t.Context(), "k")
	if err != nil || !bytes.Contains(v.Bytes(), []byte("hunter2")) {
		t.Errorf("Get: %v", err)
	}
}

func TestAValueAboveTheBoundOfItsLayersIsTooLarge(t *testing.T) {
	t.Parallel()
	f := newFake()
	r := repository(t, f.open(t, cache.Config{Stores: map[string]cache.StoreConfig{"main": {
		Driver: "fake", Compress: cache.CompressConfig{MaxSize: 100},
	}}}), "main")
	value := strings.Repeat("x", 100)
	if err := r.Set(t.Context(), "k", value, time.Minute); !errors.Is(err, cache.ErrTooLarge) {
		t.Errorf("Set: %v", err)
	}
	err := r.SetMany(t.Context(), map[string]any{"k": value, "l": 1}, time.Minute)
	var batch *cache.BatchError
	if !errors.As(err, &batch) || !errors.Is(batch.Failed["k"], cache.ErrTooLarge) {
		t.Errorf("SetMany: %v", err)
	}
	if calls := f.seen(); len(calls) != 0 {
		t.Errorf("the driver was called: %q", calls)
	}
}

func TestSettingsHideTheKeys(t *testing.T) {
	t.Parallel()
	m := newFake().open(t, cache.Config{Stores: map[string]cache.StoreConfig{"main": {
		Driver: "fake", Encrypt: cache.EncryptConfig{Keys: map[string]string{"a": keyA}},
	}}})
	settings, err := m.Settings(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%+v", settings); strings.Contains(text, keyA) || !strings.Contains(text, "encrypt.keys.a") {
		t.Errorf("Settings = %s", text)
	}
}

// A rot13 codec stands for an application's own.
type rot13 struct{ cache.Codec }

func (rot13) Name() string { return "rot13-test" }

func init() { cache.RegisterCodec(rot13{cache.Raw}) }

func TestAConfigurationNamesTheApplicationsCodec(t *testing.T) {
	t.Parallel()
	f := newFake()
	m := f.open(t, cache.Config{Stores: map[string]cache.StoreConfig{"main": {Driver: "fake", Codec: "rot13-test"}}})
	must(t, m.Set(t.Context(), "k", "value", time.Minute))
	if stored, _ := f.stored("k"); stored != "value" {
		t.Errorf("stored %q", stored)
	}
	if m.Stores()[0].Codec != "rot13-test" {
		t.Errorf("Stores = %v", m.Stores())
	}
}

func TestAToolReadsTheStoresOfACodecItDoesNotHave(t *testing.T) {
	t.Parallel()
	f := newFake()
	config := cache.Config{Stores: map[string]cache.StoreConfig{"main": {Driver: "fake", Codec: "theirs"}}}
	if _, err := f.tryOpen(t, config); !errors.Is(err, cache.ErrInvalidConfig) {
		t.Errorf("without the option: %v", err)
	}
	r := repository(t, f.open(t, config, cache.WithForeignCodecs()), "main")
	f.plant("k", "hunter2")
	v, err := r.Get(t.Context(), "k")
	must(t, err)
	var data []byte
	if err := v.Decode(&data); err != nil || string(data) != "hunter2" || v.IsNull() {
		t.Errorf("bytes %q, %v", data, err)
	}
	for _, dst := range []any{new(any), new(string), new(int)} {
		if err := v.Decode(dst); !errors.Is(err, cache.ErrWrongType) || !strings.Contains(err.Error(), "theirs") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Decode into %T: %v", dst, err)
		}
	}
	if err := r.Set(t.Context(), "k", "v", time.Minute); !errors.Is(err, cache.ErrWrongType) {
		t.Errorf("Set: %v", err)
	}
	must(t, r.WithCodec(cache.Raw).Set(t.Context(), "k", "v", time.Minute))
	must(t, r.Set(t.Context(), "n", 5, time.Minute))
	n, err := r.Get(t.Context(), "n")
	must(t, err)
	var number any
	if err := n.Decode(&number); err != nil || fmt.Sprint(number) != "5" {
		t.Errorf("a counter reads as %v, %v", number, err)
	}
	for _, name := range []string{"msgpakc!", "Theirs"} {
		config.Stores["main"] = cache.StoreConfig{Driver: "fake", Codec: name}
		if _, err := f.tryOpen(t, config, cache.WithForeignCodecs()); !errors.Is(err, cache.ErrInvalidConfig) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

type named struct {
	cache.Codec
	name string
}

func (n named) Name() string { return n.name }

func TestARegistrationThatCanOnlyBeAMistakePanics(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"json", "raw", "msgpack", "", "Upper", "with space", "1st"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was taken", name)
				}
			}()
			cache.RegisterCodec(named{cache.JSON, name})
		}()
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must2(t *testing.T) func(any, error) {
	return func(_ any, err error) {
		t.Helper()
		must(t, err)
	}
}

func never(context.Context) (any, error) { return nil, errors.New("the resolver ran") }
