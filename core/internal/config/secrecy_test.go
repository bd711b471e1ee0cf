package config

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

const secret = "hunter2"

// Everything that can hold a value holds the secret, in spellings that YAML
// takes for text, for something else, or not at all.
var (
	spellings = []string{
		"hunter2", `"hunter2"`, "'hunter2'", "*hunter2", "@hunter2", "!hunter2", "!hunter2 x", "&hunter2", "%hunter2", "`hunter2`", "|hunter2",
		">hunter2", "#hunter2", "[hunter2]", "[hunter2, 5]", "[hunter2", "\"hunter2", "'hunter2", "hunter2: more", "hunter2: more: most",
		"- hunter2", "!!int hunter2", "!!float hunter2", "!!binary hunter2*", "!!bool hunter2", "\thunter2", "hunter2\x01", "hunter2\xff",
		"$hunter2", "${A}", "x${A}", "${A", "${A:-${hunter2}}", "${file:secret}", "a$$${A}$", "${UNSET:-hunter2}", "60", "-hunter2", "hunter2s", "? hunter2",
		"|\n      hunter2", "hunter2\n  hunter2", "{x: hunter2}", "hunter2 # hunter2", "!<hunter2> x", "!h!hunter2 x",
	}
	slots = []string{
		"default: %s", "prefix: %s", "drivers:\n  acme: {run: command, command: [x]}\n  redis:\n    run: %s", "    start_timeout: %s",
		"    command: %s", "    sha256: %s", "    env: %s", "stores:\n  redis:\n    driver: %s", "    prefix: %s", "    codec: %s", "    timeout: %s",
		"    encrypt:\n      key: %s", "      algorithm: %s", "      keys:\n        main: %s", "        spare: %s", "    compress:\n      algorithm: %s",
		"      above: %s", "      max_size: %s", "    default_ttl: %s", "    ttl_jitter: %s", "    on_error: %s",
		"    lock: %s", "    addr: %s", "    url: %s", "    db: %s", "    password: %s", "    pause: %s", "    labels: %s", "    tls: %s",
		"  memory:\n    driver: memory\n    max_bytes: %s", "    idle: %s", "    dedicated: %s", "    weight: %s", "    shards: %s", "    unheard_of: %s",
		"    lock:\n      strategy: %s", "      lease: %s", "      wait: %s", "      timeout: %s", "  memcached:\n    driver: memcached\n    servers: %s",
		"  database:\n    driver: database\n    dsn: %s", "  file:\n    driver: file\n    path: %s",
	}
	harmless = []string{"redis", "memory", "builtin", "command", "5s", "[x]", "{}", "{linux/amd64: x}", "x"}
	settable = []string{
		"CACHEWRIGHT_DEFAULT", "CACHEWRIGHT_PREFIX", "CACHEWRIGHT_STORES__REDIS__DB", "CACHEWRIGHT_STORES__REDIS__PASSWORD", "CACHEWRIGHT_STORES__REDIS__PAUSE",
		"CACHEWRIGHT_STORES__REDIS__TLS__VERIFY", "CACHEWRIGHT_STORES__MEMORY__IDLE", "CACHEWRIGHT_STORES__MEMORY__DRIVER", "CACHEWRIGHT_DRIVERS__ACME__RUN",
		"CACHEWRIGHT_DRIVERS__ACME__SHA256__X", "CACHEWRIGHT_STORES__REDIS__LOCK__WAIT", "CACHEWRIGHT_STORES__NONE__X", "CACHEWRIGHT_DEFAULT_X",
		"CACHE_STORE", "CACHE_PREFIX", "CACHE_FILE_PATH", "REDIS_HOST", "REDIS_PORT", "REDIS_DB", "REDIS_PASSWORD", "MEMCACHED_HOST", "MEMCACHED_PORT",
	}
	leaks = []string{secret, secret + ":1", "a/" + secret, "::" + secret, secret + " \xff", "${" + secret + "}"}
)

// No error quotes a value. Names of variables and files in references are the
// exception; the secret stands in none that can be read as one, but in
// ${hunter2} within another reference, which isn't quoted either.
func TestNoErrorQuotesAValue(t *testing.T) {
	t.Parallel()
	failed := 0
	for seed := range uint64(400) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		text := mutate(rnd)
		environ := []string{"A=" + secret}
		for _, name := range settable {
			if rnd.IntN(6) == 0 {
				environ = append(environ, name+"="+leaks[rnd.IntN(len(leaks))])
			}
		}
		_, err := load(t, text, environ...)
		if err == nil {
			continue
		}
		failed++
		if strings.Contains(err.Error(), secret) {
			t.Fatalf("seed %d: a value is quoted:\n%v\nfrom:\n%s\n%q", seed, err, text, environ)
		}
	}
	if failed < 150 {
		t.Errorf("only %d configurations had an error; the test proves little", failed)
	}
}

// The names that an error offers in the place of an unknown one may be values too.
func TestNoSuggestionQuotesAValue(t *testing.T) {
	t.Parallel()
	for _, section := range []string{"stores", "drivers"} {
		other := map[string]string{"stores": "drivers", "drivers": "stores"}[section]
		text := fmt.Sprintf("default: memory\n%s:\n  memory: {driver: memory}\n  password:hunter2:\n  Hunter2: {}\n%s: {}\n", section, other)
		for _, name := range []string{"__UNHEARD__OF", "__PASSWOR__X", "__HUNTER__X"} {
			_, err := load(t, text, "CACHEWRIGHT_"+strings.ToUpper(section)+name+"=x")
			if err == nil || strings.Contains(err.Error(), "password:hunter2") || strings.Contains(err.Error(), "there are Hunter2") {
				t.Errorf("%s: %v", section, err)
			}
		}
	}
}

func mutate(rnd *rand.Rand) string {
	chance := 1 + rnd.IntN(30) // of a slot to hold the secret
	var b strings.Builder
	for _, slot := range slots {
		value := harmless[rnd.IntN(len(harmless))]
		if rnd.IntN(chance) == 0 {
			value = spellings[rnd.IntN(len(spellings))]
		}
		fmt.Fprintf(&b, slot+"\n", value)
	}
	return b.String()
}
