package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.."

func TestTheRepositorysConfigurationWorks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(root, "config.yaml")
	c, err := Load(t.Context(), path, Options{Environ: []string{}, Schemas: linked("file", "memory")})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "order", c.Order, []string{"file", "memory", "redis", "memcached", "database"})
	equal(t, "default", c.Default, "file")
	for _, name := range c.Order {
		equal(t, "driver of "+name, c.Stores[name].Driver, name)
		if c.Drivers[name].Run != RunBuiltin {
			t.Errorf("driver %s isn't registered as a built-in", name)
		}
		if _, err := c.CheckStore(name, standIns[name]); err != nil {
			t.Errorf("CheckStore(%s): %v", name, err)
		}
	}
	folder, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	options, err := c.CheckStore("file", standIns["file"])
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "path of the file store", options["path"], filepath.Join(folder, "storage/cache"))
}

// Every yaml block of the documentation is loaded, with the yml block that
// follows it laid over it and under the sh block that follows; a text block
// behind them is the error that it must give.
func TestTheDocumentationIsTrue(t *testing.T) {
	t.Parallel()
	for page, least := range map[string]int{"configuration.md": 8, "codecs.md": 2} {
		data, err := os.ReadFile(filepath.Join(root, "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		snippets := snippetsOf(t, string(data))
		if len(snippets) < least {
			t.Fatalf("only %d snippets in %s", len(snippets), page)
		}
		testSnippets(t, snippets)
	}
}

func testSnippets(t *testing.T, snippets []snippet) {
	t.Helper()
	for _, s := range snippets {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			path := write(t, s.yaml)
			beside := map[string]string{
				"redis-password": "x\n", "cache-key": strings.Repeat("07", keySize) + "\n", "over.yaml": s.over,
			}
			for name, text := range beside {
				if err := os.WriteFile(filepath.Join(filepath.Dir(path), name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			opts := Options{
				Environ: s.environ, Schemas: linked(), Platform: "linux/amd64",
				Codecs: []string{"json", "msgpack", "raw"}, Compressions: []string{"zstd"}, Ciphers: []string{DefaultCipher},
			}
			if s.over != "" {
				opts.Over = []string{filepath.Join(filepath.Dir(path), "over.yaml")}
			}
			c, err := Load(t.Context(), path, opts)
			got := ""
			if err != nil {
				got = strings.ReplaceAll(err.Error(), filepath.Dir(path)+"/", "") + "\n"
			}
			if got != s.problems {
				t.Errorf("Load reports:\n%s\nthe documentation says:\n%s", got, s.problems)
			}
			for _, setting := range s.environ { // a good one is not only taken but has an effect
				if name, _, _ := strings.Cut(setting, "="); err == nil && strings.HasPrefix(name, ours) && !isOrigin(c, name) {
					t.Errorf("%s sets nothing", name)
				}
			}
		})
	}
}

func isOrigin(c *Config, variable string) bool {
	for _, p := range c.origins {
		if p.Variable == variable {
			return true
		}
	}
	return false
}

type snippet struct {
	name, yaml, over, problems string
	environ                    []string
}

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

func snippetsOf(t *testing.T, text string) []snippet {
	t.Helper()
	var all []snippet
	for _, block := range fence.FindAllStringSubmatch(text, -1) {
		language, body := block[1], block[2]
		if language == "go" || language == "" { // the tests of docs compile the first; the second is a picture
			continue
		}
		if language == "yaml" {
			name, _, _ := strings.Cut(body, "\n")
			all = append(all, snippet{name: name, yaml: body, environ: []string{}})
			continue
		}
		if len(all) == 0 {
			t.Fatalf("a block of %q before any yaml", language)
		}
		switch last := &all[len(all)-1]; language {
		case "yml":
			last.over = body
		case "sh":
			last.environ = strings.Split(strings.TrimSpace(body), "\n")
		case "text":
			last.problems = body
		default:
			t.Fatalf("a block of %q, which nothing checks", language)
		}
	}
	return all
}
