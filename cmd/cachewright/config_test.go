package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// in runs the program in the shell's folder, with no configuration named.
func (s shell) in(args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	s.t.Chdir(s.dir)
	var out, errs bytes.Buffer
	code = run(s.t.Context(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestTheStarterWorksAtOnce(t *testing.T) {
	s := shell{t, t.TempDir()}
	t.Setenv("CACHEWRIGHT_CONFIG", "")
	if code, out, errs := s.in("init"); code != exitYes || !strings.HasPrefix(out, "wrote config.yaml; ") {
		t.Fatalf("init: exit %d, %q, %q", code, out, errs)
	}
	for _, args := range []string{"config check", `set greeting "hello" --ttl 10m`, "doctor", "stores"} {
		if code, _, errs := s.in(strings.Fields(args)...); code != exitYes || errs != "" {
			t.Errorf("%s: exit %d, %q", args, code, errs)
		}
	}
	if code, out, _ := s.in("get", "greeting"); code != exitYes || out != "\"hello\"\n" {
		t.Errorf("get: exit %d, %q", code, out)
	}
	if err := os.WriteFile("config.yaml", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs := s.in("init")
	if kept, _ := os.ReadFile("config.yaml"); code != exitUsage || !strings.Contains(errs, "--force") || string(kept) != "mine" {
		t.Errorf("a second init: exit %d, %q, leaves %q", code, errs, kept)
	}
	if code, _, errs := s.in("init", "--force"); code != exitYes {
		t.Errorf("init --force: exit %d, %q", code, errs)
	}
	if code, _, errs := s.in("-c", "no/such/folder/c.yaml", "init"); code != exitUsage || !strings.Contains(errs, "a folder that is there") {
		t.Errorf("init elsewhere: exit %d, %q", code, errs)
	}
	left, err := os.ReadDir(".")
	if err != nil || len(left) != 2 { // the configuration and the storage
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

// What the starter has in comments is right as well.
func TestTheCommentsOfTheStarterAreConfigurationToo(t *testing.T) {
	s := shell{t, t.TempDir()}
	commented := regexp.MustCompile(`(?m)^( *)#((?:  )*[^ \n].*)$`) // prose has one blank behind the #, or three
	text := commented.ReplaceAllString(string(starter), "$1$2")
	text = strings.Replace(text, `"the digest that sha256sum prints"`, strings.Repeat("a", 64), 1)
	text = strings.Replace(text, "linux/amd64", platform(), 1)
	if !strings.Contains(text, "\n  database:\n") || !strings.Contains(text, "\ndrivers:\n") {
		t.Fatalf("the comments are still comments:\n%s", text)
	}
	for name, content := range map[string]string{"config.yaml": text, "redis-password": "x"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("DATABASE_URL", "postgres://h/d")
	if code, out, errs := s.run("", "config", "check"); code != exitYes || !strings.Contains(out, "5 stores") {
		t.Errorf("exit %d, %s%s\n%s", code, out, errs, text)
	}
}

func TestOnlyADriverThatIsAProgramKnowsItsOptions(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := fmt.Sprintf("drivers:\n  acme: {run: command, command: [%q], env: {%s: redis}}\n", self, roleVariable)
	good := newShell(t, "default: a\n"+program+"stores:\n  a: {driver: acme, addr: \"127.0.0.1:1\", password: hunter2}\n")
	good.play([]step{
		{args: "config check", stdout: good.dir + "/config.yaml: no faults, 1 store; the options of a are its driver's to check: config check --start\n"},
		{args: "config check --start", stdout: good.dir + "/config.yaml: no faults, 1 store\n"},
		{args: "config check --json", stdout: `{"ok":true,"stores":1,"problems":[],"unasked":["a"],"notes":[]}` + "\n"},
	})
	if _, out, _ := good.run("", "config", "show"); strings.Contains(out, "127.0.0.1:1") || strings.Contains(out, "hunter2") {
		t.Errorf("without asking the driver, its options are shown:\n%s", out)
	}
	if _, out, _ := good.run("", "config", "show", "--start"); !regexp.MustCompile(`stores\.a\.addr +127\.0\.0\.1:1 `).MatchString(out) || strings.Contains(out, "hunter2") {
		t.Errorf("with the driver's knowledge:\n%s", out)
	}
	code, out, _ := good.run("", "doctor", "-s", "a")
	if pin := "{" + platform() + ": "; code != exitFailed || !strings.Contains(out, "warn  driver acme: not pinned") || !regexp.MustCompile(regexp.QuoteMeta(pin)+`[0-9a-f]{64}}`).MatchString(out) {
		t.Errorf("doctor: exit %d\n%s", code, out)
	}

	bad := newShell(t, "default: a\n"+program+"stores:\n  a: {driver: acme, adr: x}\n  b: {driver: acme, db: no}\n")
	bad.play([]step{
		{args: "config check", stdout: bad.dir + "/config.yaml: no faults, 2 stores; the options of a, b are its driver's to check: config check --start\n"},
		{args: "config check --start", code: exitUsage, stderr: "config.yaml:5: stores.a.adr: is not a key of this store's driver; did you mean addr?"},
		{args: "config check --start", code: exitUsage, stderr: "config.yaml:6: stores.b.db: wants a whole number"},
	})
	code, out, _ = bad.run("", "doctor")
	if code != exitUsage || !strings.Contains(out, "config.yaml:5: stores.a.adr: ") || !strings.Contains(out, "config.yaml:6: stores.b.db: ") {
		t.Errorf("doctor: exit %d\n%s", code, out)
	}
}

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	_, text, _ := shell{t, t.TempDir()}.run("", "config", "schema")
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("cachewright.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("cachewright.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func TestTheSchemaTakesWhatTheProgramTakes(t *testing.T) {
	t.Parallel()
	s := compiledSchema(t)
	own, err := os.ReadFile("../../config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"config.yaml": string(own), "the starter": string(starter), "the tests' own": testConfig} {
		if err := validate(t, s, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
	checked := 0
	for i, block := range blocks {
		wrong := false // what the document shows the errors of, in a block of text behind it
		for _, next := range blocks[i+1:] {
			if next[1] == "yaml" {
				break
			}
			wrong = wrong || next[1] == "text"
		}
		if block[1] != "yaml" || wrong {
			continue
		}
		checked++
		if err := validate(t, s, block[2]); err != nil {
			t.Errorf("docs/configuration.md: %v\n%s", err, block[2])
		}
	}
	if checked < 3 {
		t.Errorf("only %d blocks of docs/configuration.md were checked", checked)
	}
}

func TestTheSchemaRefusesWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := compiledSchema(t)
	for _, text := range []string{
		"defualt: a",
		"default: 5",
		"prefix: a b",
		"stores: {A: {driver: file}}",
		"stores: {a: {driver: file, pth: x}}",
		"stores: {a: {driver: file, path: 5}}",
		"stores: {a: {driver: file, sync: sometimes}}",
		"stores: {a: {driver: redis, db: zero}}",
		"stores: {a: {driver: redis, tls: {enable: true}}}",
		"stores: {a: {driver: memory, max_bytes: much}}",
		"stores: {a: {driver: memory, max_bytes: 64M}}",
		"stores: {a: {driver: memory, timeout: 5}}",
		"stores: {a: {driver: memory, timeout: soon}}",
		"stores: {a: {driver: memory, on_error: ignore}}",
		"stores: {a: {driver: memory, lock: {strategy: maybe}}}",
		"stores: {a: {driver: memory, lock: {leese: 5s}}}",
		"drivers: {acme: {run: attach}}",
		"drivers: {acme: {run: command, command: []}}",
		"drivers: {acme: {run: command, command: [a], sha256: {linux/amd64: abc}}}",
	} {
		if err := validate(t, s, text); err == nil {
			t.Errorf("the schema takes %s", text)
		}
	}
	for _, text := range []string{
		"stores: {a: {driver: acme, anything: {goes: 1}}}",
		`stores: {a: {driver: redis, db: "${DB:-0}", addr: "${HOST}:1", pool_size: "8", dial_timeout: 1m30s}}`,
		"stores: {a: {driver: memory, max_bytes: 1.5GiB}, b: {driver: memory, max_bytes: 4096}}",
		"stores: {a: {driver: file, path: x, compress: zstd, encrypt: {keys: {k: \"${file:key}\"}}, default_ttl: 1h, ttl_jitter: 10%, on_error: miss}}",
		"drivers: {file: null}",
	} {
		if err := validate(t, s, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
