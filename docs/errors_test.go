package docs

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/inproc"
	"github.com/cachewright/cachewright/sdk"
)

// exportedErrors lists the sentinels that a package declares.
func exportedErrors(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for name, object := range file.Scope.Objects {
			if object.Kind == ast.Var && strings.HasPrefix(name, "Err") {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

func TestThePageOnErrorsHasARowForEachAndNoOther(t *testing.T) {
	application, driver, ok := strings.Cut(read(t, "errors.md"), "## In a driver")
	if !ok {
		t.Fatal("errors.md has no part on drivers")
	}
	row := regexp.MustCompile("(?m)^\\| `(Err\\w+)` \\|")
	for _, part := range []struct{ folder, text string }{{"../core", application}, {"../sdk", driver}} {
		var rows []string
		for _, m := range row.FindAllStringSubmatch(part.text, -1) {
			rows = append(rows, m[1])
		}
		slices.Sort(rows)
		if want := exportedErrors(t, part.folder); len(want) < 11 || !slices.Equal(rows, want) {
			t.Errorf("errors.md has rows for\n%v, and %s exports\n%v", rows, part.folder, want)
		}
	}
}

// The page's blocks are bodies of functions here, or stand here as they are.

type Article struct{ Title string }

func load(context.Context, string) (Article, error) { return Article{"from the source"}, nil }

func readArticle(ctx context.Context, store cache.ICacheRepository, id string) (Article, error) {
	article, found, err := cache.Of[Article](store).Get(ctx, "article:"+id)
	switch {
	case errors.Is(err, cache.ErrUnavailable), errors.Is(err, cache.ErrOverloaded):
		return load(ctx, id) // the cache is down; the source is not
	case err != nil:
		return Article{}, err
	case !found:
		return load(ctx, id)
	}
	return article, nil
}

func sell(ctx context.Context, store cache.ICacheRepository) (int64, error) {
	sold, err := store.Increment(ctx, "sold", 1)
	if errors.Is(err, cache.ErrMaybeApplied) {
		// Counted or not: nobody knows. Read the counter, or live with one too few.
		return 0, fmt.Errorf("one sale may be missing: %w", err)
	}
	return sold, err
}

func readArticles(ctx context.Context, store cache.ICacheRepository, keys []string) (map[string]cache.Value, error) {
	values, err := store.GetMany(ctx, keys)
	if batch, ok := errors.AsType[*cache.BatchError](err); ok {
		for key, err := range batch.Failed {
			log.Printf("%s: %v", key, err)
		}
		return values, nil // the others are good
	}
	return values, err
}

func inside(ctx context.Context, lock *cache.CacheLock, work func(context.Context) error) (bool, error) {
	ran := false
	err := lock.Do(ctx, func(ctx context.Context) error {
		ran = true
		err := work(ctx)
		if errors.Is(context.Cause(ctx), cache.ErrLockLost) {
			// somebody else may be inside: stop, and tell whoever was written to
		}
		return err
	})
	switch {
	case errors.Is(err, cache.ErrLockTimeout) && !ran: // busy: 503 and Retry-After
	case errors.Is(err, cache.ErrLockLost): // work ran beside somebody else, perhaps
	case err != nil && !ran: // the store; nothing happened
	case err != nil: // work, or the release; a lease ends by itself
	}
	return ran, err
}

func logged(err error) {
	if failed, ok := errors.AsType[*cache.Error](err); ok {
		slog.Warn("cache", "op", failed.Op, "store", failed.Store, "driver", failed.Driver, "timeout", failed.Timeout(), "err", failed.Err)
	}
}

type remote struct {
	sdk.Store
	address string
	send    func(ctx context.Context, key string, value []byte, ttl time.Duration) (sent bool, err error)
}

func (s *remote) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	sent, err := s.send(ctx, key, value, ttl)
	switch {
	case err == nil:
		return nil
	case !sent:
		return fmt.Errorf("%w: %s: %w", sdk.ErrUnavailable, s.address, err)
	}
	return fmt.Errorf("%w: %w", sdk.ErrMaybeApplied, err)
}

// A failing store fails with the sentinel that a key names.
type failing struct{}

var sentinels = map[string]error{
	"ErrUnavailable": sdk.ErrUnavailable, "ErrMaybeApplied": sdk.ErrMaybeApplied, "ErrTooLarge": sdk.ErrTooLarge,
	"ErrInvalidKey": sdk.ErrInvalidKey, "ErrNotInteger": sdk.ErrNotInteger, "ErrOverflow": sdk.ErrOverflow,
	"ErrCorrupt": sdk.ErrCorrupt, "ErrOverloaded": sdk.ErrOverloaded, "ErrInvalidOptions": sdk.ErrInvalidOptions,
	"ErrClosed": sdk.ErrClosed, "ErrInternal": sdk.ErrInternal,
}

func (failing) fail(key string) error {
	name := key[strings.LastIndexByte(key, ':')+1:]
	if name == "panic" {
		panic("a bug")
	}
	if err := sentinels[name]; err != nil {
		return fmt.Errorf("it failed: %w", err)
	}
	return nil
}

func (f failing) Get(_ context.Context, key string) ([]byte, bool, error) {
	return []byte(`{"Title":"stored"}`), true, f.fail(key)
}

func (f failing) Set(_ context.Context, key string, _ []byte, _ time.Duration) error {
	return f.fail(key)
}
func (f failing) Delete(_ context.Context, key string) (bool, error) { return false, f.fail(key) }
func (failing) Close() error                                         { return nil }

func (f failing) Increment(_ context.Context, key string, _ int64, _ time.Duration) (int64, error) {
	return 0, sdk.ErrMaybeApplied
}

// withStores opens a memory store and one that fails in this process.
func withStores(t *testing.T) (m *cache.CacheManager, fails cache.ICacheRepository) {
	t.Helper()
	d := sdk.Define("failing", "1.0.0", func(context.Context, struct{}) (failing, error) { return failing{}, nil })
	ctx := inproc.With(t.Context(), map[string]sdk.Driver{"failing": d})
	caches, err := cache.OpenConfig(ctx, cache.Config{
		Default: "failing",
		Drivers: map[string]cache.DriverConfig{"failing": {Run: "command", Command: []string{"./failing"}}},
		Stores:  map[string]cache.StoreConfig{"failing": {Driver: "failing"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = caches.Close(context.Background()) })
	fails, err = caches.Store("failing")
	if err != nil {
		t.Fatal(err)
	}
	return memoryManager(t), fails
}

func memoryManager(t *testing.T) *cache.CacheManager {
	t.Helper()
	m, err := cache.OpenConfig(t.Context(), cache.Config{
		Default: "memory",
		Stores: map[string]cache.StoreConfig{
			"memory": {Driver: "memory", Lock: cache.LockConfig{Strategy: "local"}},
			"redis":  {Driver: "redis", Options: map[string]any{"addr": "127.0.0.1:1"}},
			"pages":  {Driver: "file", Options: map[string]any{"path": t.TempDir()}},
			"absent": {Driver: "absent"},
			"odd":    {Driver: "redis", Options: map[string]any{"url": "redis://127.0.0.1:1", "addr": "127.0.0.1:1"}},
		},
		Drivers: map[string]cache.DriverConfig{"absent": {Run: "command", Command: []string{"/no/such/driver"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	return m
}

func store(t *testing.T, m *cache.CacheManager, name string) *cache.CacheRepository {
	t.Helper()
	s, err := m.Store(name)
	if err != nil {
		t.Fatal(err)
	}
	return s.(*cache.CacheRepository)
}

// Every error of the page's first table is caused, but those that a driver has
// to be made to say, which the next test has.
func TestErrorsComeWhenThePageSaysSo(t *testing.T) {
	m := memoryManager(t)
	ctx, memory := t.Context(), store(t, m, "memory")
	for key, text := range map[string]string{"null": "null", "text": `"text"`, "broken": "{", "largest": "9223372036854775807"} {
		if err := memory.WithCodec(cache.Raw).Set(ctx, key, text, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	slow := func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() }
	for name, cause := range map[error]func() error{
		cache.ErrInvalidKey: func() error { _, err := m.Get(ctx, ""); return err },
		cache.ErrInvalidTTL: func() error { return m.Set(ctx, "k", 1, 0) },
		cache.ErrInvalidConfig: func() error {
			_, err := cache.OpenConfig(ctx, cache.Config{})
			return err
		},
		cache.ErrInvalidOptions: func() error { return store(t, m, "odd").Ping(ctx) },
		cache.ErrUnknownStore:   func() error { _, err := m.Store("sesions"); return err },
		cache.ErrMiss:           func() error { v, _ := m.Get(ctx, "absent"); return v.Decode(new(int)) },
		cache.ErrNull:           func() error { v, _ := m.Get(ctx, "null"); return v.Decode(new(int)) },
		cache.ErrWrongType:      func() error { _, _, err := cache.Of[int](m).Get(ctx, "text"); return err },
		cache.ErrCorrupt:        func() error { v, _ := m.Get(ctx, "broken"); return v.Decode(new(any)) },
		cache.ErrTooLarge:       func() error { return m.Set(ctx, "large", strings.Repeat("x", 64<<20), time.Minute) },
		cache.ErrNotInteger:     func() error { _, err := m.Increment(ctx, "text", 1); return err },
		cache.ErrOverflow:       func() error { _, err := m.Increment(ctx, "largest", 1); return err },
		cache.ErrUnavailable:    func() error { return store(t, m, "redis").Ping(ctx) },
		cache.ErrDriverUnavailable: func() error {
			return store(t, m, "absent").Ping(ctx)
		},
		cache.ErrLockTimeout: func() error {
			return m.Lock("taken").Do(ctx, func(context.Context) error {
				return m.Lock("taken", cache.LockTimeout(0)).Do(context.WithoutCancel(t.Context()), nothing)
			})
		},
		cache.ErrLockReentrant: func() error {
			return m.Lock("taken").Do(ctx, func(ctx context.Context) error { return m.Lock("taken").Do(ctx, nothing) })
		},
		cache.ErrInvalidLockOption: func() error { return m.Lock("k", cache.LockLease(time.Second)).Do(ctx, nothing) },
		cache.ErrNotFound: func() error {
			_, err := m.Remember(ctx, "nobody", time.Minute, func(context.Context) (any, error) { return nil, cache.ErrNotFound })
			return err
		},
		cache.ErrResolverTimeout: func() error {
			_, err := m.Remember(ctx, "slow", time.Minute, slow, cache.HardLimit(time.Millisecond))
			return err
		},
		cache.ErrInvalidRememberOption: func() error {
			_, err := m.Remember(ctx, "k", time.Minute, slow, cache.SoftLimit(time.Second))
			return err
		},
		errors.ErrUnsupported: func() error { return store(t, m, "redis").Clear(ctx) },
	} {
		if err := cause(); name == cache.ErrLockTimeout && errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, name) {
			t.Errorf("%v, and not %v", err, name)
		}
	}
	for _, timeout := range []error{cache.ErrLockTimeout, cache.ErrResolverTimeout} {
		if !errors.Is(timeout, os.ErrDeadlineExceeded) || errors.Is(timeout, context.DeadlineExceeded) {
			t.Errorf("%v matches other deadlines than the page says", timeout)
		}
	}
	if err := m.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Get(ctx, "k"); !errors.Is(err, cache.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func nothing(context.Context) error { return nil }

func TestWhatADriverSaysIsWhatTheApplicationMatches(t *testing.T) {
	_, fails := withStores(t)
	ctx := t.Context()
	for name, sentinel := range sentinels {
		if _, err := fails.Get(ctx, name); !errors.Is(err, sentinel) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if names := slices.Sorted(maps.Keys(sentinels)); !slices.Equal(names, exportedErrors(t, "../sdk")) {
		t.Errorf("only %v are looked at", names)
	}
	if _, err := fails.Get(ctx, "panic"); !errors.Is(err, cache.ErrInternal) || strings.Contains(err.Error(), "Title") {
		t.Errorf("a panic: %v", err)
	}
}

func TestTheBlocksOfThePageOnErrorsWork(t *testing.T) {
	m, fails := withStores(t)
	ctx := t.Context()
	for _, id := range []string{"ErrUnavailable", "ErrOverloaded"} {
		if a, err := readArticle(ctx, fails, id); a.Title != "from the source" || err != nil {
			t.Errorf("%s: %v, %v", id, a, err)
		}
	}
	if a, err := readArticle(ctx, store(t, m, "memory"), "absent"); a.Title != "from the source" || err != nil {
		t.Errorf("absent: %v, %v", a, err)
	}
	if a, err := readArticle(ctx, fails, "good"); a.Title != "stored" || err != nil {
		t.Errorf("good: %v, %v", a, err)
	}
	if _, err := readArticle(ctx, fails, "ErrCorrupt"); !errors.Is(err, cache.ErrCorrupt) {
		t.Errorf("ErrCorrupt: %v", err)
	}
	if _, err := sell(ctx, fails); !errors.Is(err, cache.ErrMaybeApplied) {
		t.Errorf("sell: %v", err)
	}
	values, err := readArticles(ctx, fails, []string{"article:good", "article:ErrCorrupt"})
	if len(values) != 1 || err != nil {
		t.Errorf("readArticles = %v, %v", values, err)
	}
	lock := m.Lock("job", cache.LockTimeout(0))
	if ran, err := inside(ctx, lock, nothing); !ran || err != nil {
		t.Errorf("inside: %t, %v", ran, err)
	}
	_, err = inside(ctx, lock, func(context.Context) error {
		ran, err := inside(context.WithoutCancel(t.Context()), lock, nothing)
		if ran {
			t.Error("two are inside")
		}
		return err
	})
	if !errors.Is(err, cache.ErrLockTimeout) {
		t.Errorf("beside somebody: %v", err)
	}
	logged(err)
	for sent, want := range map[bool]error{false: sdk.ErrUnavailable, true: sdk.ErrMaybeApplied} {
		r := &remote{send: func(context.Context, string, []byte, time.Duration) (bool, error) {
			return sent, errors.New("broken pipe")
		}}
		if err := r.Set(ctx, "k", nil, 0); !errors.Is(err, want) {
			t.Errorf("sent: %t: %v", sent, err)
		}
	}
}
