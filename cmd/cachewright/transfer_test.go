package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

func TestWhatExportWritesImportBringsBack(t *testing.T) {
	t.Parallel()
	s := newShell(t, testConfig)
	s.play([]step{
		{args: `set json {"a":[1,null]} --ttl 1h`},
		{args: "set spaced -", stdin: ` {"a" : 1} `},
		{args: "set null null"},
		{args: "set bytes - --raw", stdin: "\x00\xff\n"},
		{args: "set empty - --raw", stdin: ""},
		{args: "set loose - --raw", stdin: "{\"a\": 1}\n"},
		{args: "set wrong-utf8 - --raw", stdin: "\"\xff\""},
		{args: "incr count 41", stdout: "41\n"},
	})
	code, exported, stderr := s.run("", "export")
	if code != exitYes || stderr != "" || strings.Count(exported, "\n") != 8 {
		t.Fatalf("export: exit %d, %q\n%s", code, stderr, exported)
	}
	want := map[string]string{}
	for _, key := range []string{"json", "spaced", "null", "bytes", "empty", "loose", "wrong-utf8"} {
		_, want[key], _ = s.run("", "get", key, "--raw")
	}
	s.play([]step{
		{args: "clear --yes"},
		{args: "import", stdin: exported, stdout: "8\n"},
		{args: "incr count", stdout: "42\n"},
		{args: "ttl bytes", stdout: "forever\n"},
	})
	for key, value := range want {
		if _, got, _ := s.run("", "get", key, "--raw"); got != value {
			t.Errorf("%s came back as %q, was %q", key, got, value)
		}
	}
	if _, ttl, _ := s.run("", "ttl", "json"); !strings.HasPrefix(ttl, "59m5") {
		t.Errorf("an hour came back as %s", ttl)
	}
}

// Remember keeps a value for longer than it is fresh. An import must not make it
// fresh for all of that time.
func TestAnImportedValueIsFreshNoLongerThanItWas(t *testing.T) {
	t.Parallel()
	s := newShell(t, testConfig)
	m, err := cache.Open(t.Context(), filepath.Join(s.dir, "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(context.WithoutCancel(t.Context()))
	for key, ttl := range map[string]time.Duration{"forever": cache.Forever, "hour": time.Hour, "past": time.Millisecond} {
		if _, err := m.Remember(t.Context(), key, ttl, func(context.Context) (any, error) { return key, nil }, cache.StaleFor(100*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	ahead := cache.RefreshAhead(0.99)
	if _, err := m.Remember(t.Context(), "ahead", time.Hour, func(context.Context) (any, error) { return "ahead", nil }, ahead); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if v, err := m.Get(t.Context(), "past"); err == nil && !v.Found() {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the value does not end its TTL")
		}
	}
	code, exported, stderr := s.run("", "export")
	if code != exitYes || stderr != "" || strings.Count(exported, "\n") != 3 {
		t.Fatalf("export: exit %d, %q\n%s", code, stderr, exported)
	}
	s.play([]step{
		{args: "clear --yes"},
		{args: "import", stdin: exported, stdout: "3\n"},
		{args: "get hour", stdout: "\"hour\"\n"},
		{args: "ttl forever", stdout: "forever\n"},
	})
	store, err := m.Store("")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"hour", "ahead"} {
		if ttl, ok, err := store.(*cache.CacheRepository).TTL(t.Context(), key); !ok || err != nil || ttl > time.Hour || ttl < 50*time.Minute {
			t.Errorf("%s: an hour came back as %v, %t, %v", key, ttl, ok, err)
		}
	}
}

// A raw store's entry that is a text of JSON is one line too, and keys of any
// kind keep their bytes.
func TestAnExportIsOneLineAnEntryInTheOrderOfKeys(t *testing.T) {
	t.Parallel()
	s := newShell(t, testConfig)
	var lines []string
	for i := range 450 { // more than two calls' worth
		lines = append(lines, fmt.Sprintf(`{"key":"k%03d","value":%d}`, i, i))
	}
	lines = append(lines, `{"key":"line\nbreak","base64":"AA=="}`, `{"key":"ü\"","value":"<&>"}`)
	s.play([]step{{args: "import", stdin: strings.Join(lines, "\n"), stdout: "452\n"}})
	code, exported, stderr := s.run("", "export")
	if code != exitYes || exported != strings.Join(lines, "\n")+"\n" {
		t.Errorf("export: exit %d, %s\n%s", code, stderr, exported)
	}
	s.play([]step{
		{args: "export k44", stdout: strings.Join(lines[440:450], "\n") + "\n"},
		{args: "export nothing"},
	})
	_, keys, _ := s.run("", "keys")
	if code, out, _ := s.run(keys, "get-many", "-"); code != exitYes || strings.Count(out, `"found":true`) != 452 {
		t.Errorf("get-many of what keys printed: exit %d, %d found", code, strings.Count(out, `"found":true`))
	}
}

func TestImportMinds(t *testing.T) {
	t.Parallel()
	s := newShell(t, testConfig)
	long := strings.Repeat("k", 1100)
	s.play([]step{
		{args: "set there 1"},
		{args: "import --add", stdin: `{"key":"there","value":2}` + "\n" + `{"key":"new","value":2}`, stdout: "1\n"},
		{args: "get there", stdout: "1\n"},
		{args: "import --replace --json", stdin: `{"key":"there","value":3}` + "\n" + `{"key":"newer","value":3}`, stdout: `{"passed":1,"stored":1}` + "\n"},
		{args: "get there", stdout: "3\n"},
		{args: "has newer", code: exitNo, stdout: "false\n"},
		{args: "import", stdin: `{"key":"twice","value":1}` + "\n" + `{"key":"twice","value":2}`, stdout: "2\n"},
		{args: "get twice", stdout: "2\n"},
		{args: "import --dry-run", stdin: `{"key":"dry","value":1}`, stdout: "1\n"},
		{args: "has dry", code: exitNo, stdout: "false\n"},
		{args: "import", stdin: "\r\n\n" + `{"key":"crlf","value":1}` + "\r\n", stdout: "1\n"},
		{args: "import", stdin: `{"key":"before","value":1}` + "\n\n{oops\n" + `{"key":"after","value":1}`, code: exitUsage, stdout: "1\n", stderr: "stdin:3: the line is not valid JSON"},
		{args: "get before", stdout: "1\n"},
		{args: "has after", code: exitNo, stdout: "false\n"},
		{args: "import", stdin: `{"key":"good","value":1}` + "\n" + `{"key":"` + long + `","value":1}`, code: exitUsage, stdout: "1\n", stderr: "stdin:2: "},
		{args: "get good", stdout: "1\n"},
		{args: "-s redis import", stdin: `{"key":"a","value":1}`, code: exitFailed, stdout: "0\n", stderr: "stdin:1: "},
		{args: "-s raw import", stdin: `{"key":"a","value":1}`, stdout: "1\n"},
		{args: "-s raw get a --raw", stdout: "1"},
	})
	path := filepath.Join(s.dir, "lines")
	if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.play([]step{{args: "import " + path, code: exitUsage, stdout: "0\n", stderr: path + ":1: the line has no key"}})
}

func TestAnEntryThatCantBeReadIsNamedAndTheOthersAreExported(t *testing.T) {
	t.Parallel()
	s := newShell(t, testConfig)
	s.play([]step{{args: "set aa 1"}, {args: "set bb 2"}, {args: "set cc 3"}})
	damaged := 0
	err := filepath.WalkDir(filepath.Join(s.dir, "entries"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && bytes.Contains(data, []byte("bb")) {
			damaged++
			data[len(data)-1] ^= 0xff
			return os.WriteFile(path, data, 0o600)
		}
		return err
	})
	if err != nil || damaged != 1 {
		t.Fatalf("damaged %d entries, %v", damaged, err)
	}
	s.play([]step{{
		args: "export", code: exitFailed, stdout: `{"key":"aa","value":1}` + "\n" + `{"key":"cc","value":3}` + "\n",
		stderr: "1 of 3 entries could not be read",
	}})
}

func TestLinesThatAreNoEntries(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{}`:                                  "has no key",
		`[]`:                                  "is no entry",
		`null`:                                "has no key",
		`{"key":"a"}`:                         "either value or base64",
		`{"key":"a","value":1,"base64":""}`:   "either value or base64",
		`{"key":"a","value":1}{"key":"b"}`:    "more than one",
		`{"key":"a","value":1,"ttl":5}`:       "a field that no entry has",
		`{"key":"a","value":1,"ttl_ms":"5"}`:  "has a ttl_ms of the wrong type",
		`{"key":"a","value":1,"ttl_ms":0}`:    "no time to live",
		`{"key":"a","value":1,"ttl_ms":-5}`:   "no time to live",
		`{"key":"a","value":1,"ttl_ms":1e30}`: "has a ttl_ms of the wrong type",
		`{"key":"a","value":1,"ttl_ms":9223372036854775807}`: "no time to live",
		`{"key":5,"value":1}`:                                "has a key of the wrong type",
		`{"key":"a\u0000","value":1}`:                        "a key with a NUL",
		`{"key":"a","base64":"hunter2!"}`:                    "is no entry",
		`{"key":"a","value":hunter2}`:                        "is not valid JSON",
		"{\"key\":\"\xff\",\"value\":1}":                     "is not valid UTF-8",
		"\ufeff{\"key\":\"a\",\"value\":1}":                  "starts with a byte order mark",
		`{"key":"a\ud800","value":1}`:                        "half of a surrogate pair",
		`{"key":"\ufffd\uDFFF","value":1}`:                   "half of a surrogate pair",
	} {
		_, err := parseEntry([]byte(line))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v; want %q", line, err, want)
		}
	}
}

func FuzzEntriesComeBackByteForByte(f *testing.F) {
	f.Add("k", []byte(`{"a":1}`), int64(1))
	f.Add("\ufffd😀\ufffd", []byte("1"), int64(1)) // which are characters like others
	f.Add("k", []byte("\"\u2028<\""), int64(0))
	f.Add("\"\n", []byte{0xff}, int64(1500))
	f.Add("k", []byte(" 1"), int64(1))
	f.Add("k", []byte("\"\xff\""), int64(1))
	f.Fuzz(func(t *testing.T, key string, data []byte, ms int64) {
		ttl := time.Duration(ms) * time.Millisecond
		if ms <= 0 || ms > maxTTL {
			ttl = cache.Forever
		}
		key = strings.ToValidUTF8(strings.ReplaceAll(key, "\x00", ""), "")
		if key == "" {
			key = "k"
		}
		var line bytes.Buffer
		if err := writeJSON(&line, entryOf(key, data, ttl)); err != nil {
			t.Fatal(err)
		}
		if text := bytes.TrimSuffix(line.Bytes(), []byte("\n")); bytes.ContainsAny(text, "\n\r") || !json.Valid(text) {
			t.Fatalf("not one line of JSON: %q", text)
		}
		e, err := parseEntry(line.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", line.Bytes(), err)
		}
		if e.Key != key || !bytes.Equal(e.data(), data) || e.ttl() != ttl {
			t.Errorf("%q, %q, %v came back as %q, %q, %v", key, data, ttl, e.Key, e.data(), e.ttl())
		}
	})
}

func FuzzALineIsAnEntryOrAReason(f *testing.F) {
	f.Add([]byte(`{"key":"a","value":1,"ttl_ms":5}`))
	f.Add([]byte(`{"key":"a","base64":"AA=="}`))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := parseEntry(line)
		if err == nil && (e.Key == "" || e.ttl() <= 0) {
			t.Errorf("%q became %+v", line, e)
		}
	})
}
