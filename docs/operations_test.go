package docs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"go.yaml.in/yaml/v3"
)

func untilASignal(ctx context.Context, caches *cache.CacheManager, serve func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := serve(ctx) // until ctx ends; then http.Server.Shutdown
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	return errors.Join(err, caches.Close(ending))
}

func TestASignalEndsTheWorkAndThenTheStores(t *testing.T) {
	m := memoryManager(t)
	err := untilASignal(t.Context(), m, func(ctx context.Context) error {
		if err := m.Set(ctx, "k", 1, time.Minute); err != nil {
			return err
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			return err
		}
		<-ctx.Done()
		_, err := m.Get(t.Context(), "k") // work that is under way still has its stores
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if err := m.Set(t.Context(), "k", 1, time.Minute); !errors.Is(err, cache.ErrClosed) {
		t.Errorf("afterwards: %v", err)
	}
}

// Every line that core and host log has a row, and no row is of another line.
func TestTheTableOfLogMessagesIsTheCodes(t *testing.T) {
	_, page, _ := strings.Cut(read(t, "operations.md"), "\n## Log\n")
	page, _, _ = strings.Cut(page, "\n## ")
	logged := regexp.MustCompile(`(?i)\blog(?:ger)?\.(?:Debug|Info|Warn|Error)\("([^"]+)"`)
	messages := map[string]bool{}
	for _, folder := range []string{"../core", "../internal/host"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			for _, m := range logged.FindAllStringSubmatch(read(t, path), -1) {
				messages[m[1]] = true
				if !strings.Contains(page, "`"+m[1]+"`") {
					t.Errorf("operations.md has no row for the message %q of %s", m[1], path)
				}
			}
		}
	}
	if len(messages) < 12 {
		t.Errorf("found only %d messages", len(messages))
	}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\| (?:debug|info|warn|error) \\|").FindAllStringSubmatch(page, -1) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			if !messages[m[1]] {
				t.Errorf("operations.md has the message %q, which nobody logs", m[1])
			}
		}
	}
}

func TestTheMetricsToWatchAreThoseThatThereAre(t *testing.T) {
	telemetry := read(t, "telemetry.md")
	watched := regexp.MustCompile(`cachewright_\w+`).FindAllString(read(t, "operations.md"), -1)
	if len(watched) < 7 {
		t.Fatalf("only %v", watched)
	}
	for _, name := range watched {
		if !strings.Contains(telemetry, "| `"+name+"` |") {
			t.Errorf("telemetry.md has no metric %s", name)
		}
	}
	for _, label := range regexp.MustCompile(`error_type=~?"([^"]+)"`).FindAllStringSubmatch(read(t, "operations.md"), -1) {
		for class := range strings.SplitSeq(label[1], "|") {
			if !strings.Contains(read(t, "../telemetry/classes.go"), `"`+class+`"`) {
				t.Errorf("there is no class of errors %q", class)
			}
		}
	}
}

func TestTheYAMLOfOperationsIsYAML(t *testing.T) {
	for _, block := range blocks(read(t, "operations.md"), "yaml") {
		var deployment struct {
			Spec struct {
				Template struct {
					Spec struct {
						Containers []struct {
							SecurityContext map[string]any      `yaml:"securityContext"`
							VolumeMounts    []map[string]string `yaml:"volumeMounts"`
						}
					}
				}
			}
		}
		if err := yaml.Unmarshal([]byte(block), &deployment); err != nil {
			t.Error(err)
		}
		for _, c := range deployment.Spec.Template.Spec.Containers {
			if c.SecurityContext["readOnlyRootFilesystem"] != true || c.VolumeMounts[0]["mountPath"] == "" {
				t.Errorf("%+v", c)
			}
		}
	}
}

// Whatever errors.md calls the operator's has a row in the table of what to do,
// under the words that are seen.
func TestEveryErrorOfAnOperatorHasARow(t *testing.T) {
	words := map[string]string{
		"ErrInvalidConfig":     cache.ErrInvalidConfig.Error(),
		"ErrInvalidOptions":    cache.ErrInvalidOptions.Error(),
		"ErrUnknownStore":      cache.ErrUnknownStore.Error(),
		"ErrUnavailable":       cache.ErrUnavailable.Error(),
		"ErrDriverUnavailable": "driver NAME is unavailable",
		"ErrOverloaded":        cache.ErrOverloaded.Error(),
		"ErrLockLost":          cache.ErrLockLost.Error(),
	}
	_, table, _ := strings.Cut(read(t, "operations.md"), "\n## When something is wrong\n")
	rows := regexp.MustCompile("(?m)^\\| `(Err\\w+)` .*operator's").FindAllStringSubmatch(read(t, "errors.md"), -1)
	if len(rows) != len(words) {
		t.Errorf("errors.md calls %d errors the operator's, and %d are looked for", len(rows), len(words))
	}
	for _, row := range rows {
		if words[row[1]] == "" || !strings.Contains(table, "\n| `"+words[row[1]]) {
			t.Errorf("operations.md has no row for %s, %q", row[1], words[row[1]])
		}
	}
}

// Links into a page lead to one of its headings.
func TestAnchorsLeadSomewhere(t *testing.T) {
	fenced := regexp.MustCompile("(?ms)^```.*?^```$")
	link := regexp.MustCompile(`\]\(([^):#]*)#([^)]+)\)`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, path), ""), -1) {
			target := path
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(path), m[1])
			}
			if !hasHeading(read(t, target), m[2]) {
				t.Errorf("%s links to %s#%s, and there is no such heading", path, m[1], m[2])
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// hasHeading looks for the heading that GitHub gives this anchor.
func hasHeading(page, anchor string) bool {
	dropped := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		text := dropped.ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(text, " ", "-") == anchor {
			return true
		}
	}
	return false
}
