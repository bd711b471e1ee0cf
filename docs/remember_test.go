package docs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/sdk"
	"github.com/cachewright/cachewright/telemetry"
)

// The pages' Go blocks are bodies of functions in this file, or prometheus_test.go
// as it stands, so that they compile and run.
func TestBlocksOfRememberAndTelemetryRun(t *testing.T) {
	source, whole := read(t, "remember_test.go"), read(t, "prometheus_test.go")
	for _, page := range []string{"remember.md", "telemetry.md"} {
		found := blocks(read(t, page), "go")
		if len(found) < 3 {
			t.Fatalf("%s has only %d Go blocks", page, len(found))
		}
		for _, block := range found {
			if !strings.Contains(source, indented(block)) && !strings.HasSuffix(whole, block) {
				t.Errorf("%s has a block that is not in remember_test.go:\n%s", page, block)
			}
		}
	}
}

func TestThePageOnRememberListsEveryOption(t *testing.T) {
	page := read(t, "remember.md")
	options := regexp.MustCompile(`(?m)^func (\w+)[\[(].* RememberOption \{`).FindAllStringSubmatch(read(t, "../core/remember_options.go"), -1)
	if len(options) < 11 {
		t.Fatalf("only %d options", len(options))
	}
	for _, option := range options {
		if !strings.Contains(page, "\n| `"+option[1]+"(") {
			t.Errorf("remember.md has no row for %s", option[1])
		}
	}
}

func indented(block string) string {
	var b strings.Builder
	for line := range strings.Lines(block) {
		if line != "\n" {
			b.WriteString("\t")
		}
		b.WriteString(line)
	}
	return b.String()
}

type (
	Report struct{ Text string }
	User   struct{ Name string }
	Token  struct{ ExpiresIn time.Duration }
)

func build(context.Context) (Report, error) { return Report{"built"}, nil }

func find(context.Context, string) (User, bool) { return User{}, false }

func login(context.Context) (Token, error) { return Token{time.Hour}, nil }

func plain(ctx context.Context, store cache.ICacheRepository) (Report, error) {
	report, err := cache.Of[Report](store).Remember(ctx, "report", time.Hour, build)
	return report, err
}

func everything(ctx context.Context, store cache.ICacheRepository) (Report, error) {
	report, err := cache.Of[Report](store).Remember(ctx, "report", time.Minute, build,
		cache.SingleFlight(30*time.Second),    // one build a process, which outlives an impatient caller
		cache.UnderLock(),                     // and one among processes, as far as the store's locks reach
		cache.StaleFor(time.Hour),             // an old report, if building fails
		cache.SoftLimit(200*time.Millisecond), // or takes long; it goes on in the background
		cache.HardLimit(5*time.Second),        // nobody waits longer, old report or not
		cache.RetryAfter(10*time.Second),      // a source that is down is not asked by everybody
		cache.RefreshAhead(0.8),               // after 48 s a hit builds the next one in the background
		cache.TTLJitter(0.1),                  // not all at the same second
	)
	switch {
	case errors.Is(err, cache.ErrResolverTimeout): // building takes too long, and there is no old report
	case err != nil: // building failed, and there is no old report; or the store
	}
	return report, err
}

func absent(ctx context.Context, store cache.ICacheRepository, id string) (User, error) {
	user, err := cache.Of[User](store).Remember(ctx, "user:"+id, time.Hour, func(ctx context.Context) (User, error) {
		user, ok := find(ctx, id)
		if !ok {
			return User{}, fmt.Errorf("user %s: %w", id, cache.ErrNotFound)
		}
		return user, nil
	}, cache.NegativeTTL(10*time.Second))
	if errors.Is(err, cache.ErrNotFound) {
		// there is no such user, and for ten seconds nobody asks again
	}
	return user, err
}

func chosen(ctx context.Context, store cache.ICacheRepository) (Token, error) {
	token, err := cache.Of[Token](store).Remember(ctx, "token", cache.Forever, login,
		cache.TTLFrom(func(t Token) time.Duration { return t.ExpiresIn - time.Minute }),
		cache.SingleFlight(10*time.Second),
	)
	return token, err
}

func oneAtATime(ctx context.Context, store cache.ICacheRepository) (Report, error) {
	report, err := cache.Of[Report](store).Remember(ctx, "report", time.Minute, build,
		cache.StaleFor(time.Hour),
		cache.UnderLock(cache.LockTimeout(0)),
	)
	return report, err
}

func observed(ctx context.Context) error {
	tel, err := telemetry.New() // the global providers; options take others
	if err != nil {
		return err
	}
	caches, err := cache.Open(ctx, "config.yaml", cache.WithHook(tel))
	if err != nil {
		return err
	}
	stop, err := tel.Observe(caches) // the drivers' state, and counters that begin at 0
	if err != nil {
		return err
	}
	_, err = caches.Get(ctx, "k")
	return errors.Join(err, stop(), caches.Close(ctx))
}

func inADriver(ctx context.Context) string {
	traceparent, tracestate := sdk.TraceContext(ctx)
	return traceparent + tracestate
}

func TestRememberAsItsPageShowsIt(t *testing.T) {
	m, err := cache.OpenConfig(t.Context(), cache.Config{
		Default: "memory",
		Stores:  map[string]cache.StoreConfig{"memory": {Driver: "memory", Lock: cache.LockConfig{Strategy: "local"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(context.WithoutCancel(t.Context()))
	store, err := m.Store("")
	if err != nil {
		t.Fatal(err)
	}
	for name, remember := range map[string]func(context.Context, cache.ICacheRepository) (Report, error){
		"plain": plain, "everything": everything, "oneAtATime": oneAtATime,
	} {
		for range 2 {
			if report, err := remember(t.Context(), store); err != nil || report.Text != "built" {
				t.Errorf("%s: %v, %v", name, report, err)
			}
		}
		if _, err := store.Delete(t.Context(), "report"); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if _, err := absent(t.Context(), store, "7"); !errors.Is(err, cache.ErrNotFound) {
			t.Errorf("absent: %v", err)
		}
	}
	if _, err := chosen(t.Context(), store); err != nil {
		t.Error(err)
	}
	if ttl, _, err := store.(*cache.CacheRepository).TTL(t.Context(), "token"); err != nil || ttl > 59*time.Minute {
		t.Errorf("the token's TTL: %v, %v", ttl, err)
	}
}

func TestTelemetryAsItsPageShowsIt(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("config.yaml", []byte("default: memory\nstores: {memory: {driver: memory}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := observed(t.Context()); err != nil {
		t.Error(err)
	}
	if got := inADriver(t.Context()); got != "" {
		t.Errorf("a trace context from nowhere: %q", got)
	}
}
