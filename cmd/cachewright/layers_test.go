package main

import (
	"strings"
	"testing"

	_ "github.com/cachewright/cachewright/codecs/all"
)

const layeredConfig = `default: sealed
stores:
  sealed:
    driver: file
    path: ./sealed
    compress: {above: 1}
    encrypt: {keys: {k: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=}}
  packed: {driver: file, path: ./packed, codec: msgpack, prefix: packed}
  raw: {driver: file, path: ./raw, codec: raw}
  short: {driver: memory, default_ttl: 1h}
  lenient: {driver: redis, addr: "127.0.0.1:1", on_error: miss}
`

func TestCodecsAndLayersAreSeenThrough(t *testing.T) {
	t.Parallel()
	s := newShell(t, layeredConfig)
	for _, store := range []string{"sealed", "packed"} {
		s.play([]step{
			{args: "-s " + store + ` set k {"a":[1,null,"x"]}`},
			{args: "-s " + store + " get k", stdout: `{"a":[1,null,"x"]}` + "\n"},
			{args: "-s " + store + " get-many k", stdout: `{"key":"k","found":true,"value":{"a":[1,null,"x"]}}` + "\n"},
			{args: "-s " + store + " set n 41"},
			{args: "-s " + store + " incr n", stdout: "42\n"},
			{args: "-s " + store + " get n", stdout: "42\n"},
			{args: "-s " + store + " set null null"},
			{args: "-s " + store + " get null", stdout: "null\n"},
		})
		code, exported, stderr := s.run("", "-s", store, "export")
		if code != exitYes || strings.Count(exported, "\n") != 3 {
			t.Fatalf("export from %s: exit %d, %s%s", store, code, exported, stderr)
		}
		s.play([]step{
			{args: "-s " + store + " clear --yes"},
			{args: "-s " + store + " import", stdin: exported, stdout: "3\n"},
			{args: "-s " + store + " get k", stdout: `{"a":[1,null,"x"]}` + "\n"},
			{args: "-s " + store + " incr n", stdout: "43\n"},
		})
	}
	s.play([]step{
		{args: "-s raw set k {}", code: exitUsage, stderr: "give --raw"},
		{args: "-s raw set k {} --raw"},
		{args: "-s raw get k", stdout: "{}\n"},
	})
	if _, shown, _ := s.run("", "config", "show", "-s", "sealed"); strings.Contains(shown, "AAECAw") || !strings.Contains(shown, "stores.sealed.encrypt.keys.k") {
		t.Errorf("config show:\n%s", shown)
	}
}

// A codec that isn't JSON gets Go values, and no number becomes another on the way.
func TestNumbersKeepTheirDigitsUnderEveryCodec(t *testing.T) {
	t.Parallel()
	s := newShell(t, layeredConfig)
	for _, value := range []string{
		"9007199254740993", "-9223372036854775808", "9223372036854775807", "18446744073709551615", "0", "1.5", "1e+300",
		`{"a":[9007199254740993,{"b":18446744073709551615}],"c":-0.25}`, "[]", "{}", `[[null,true,"1e400"]]`,
	} {
		for _, store := range []string{"sealed", "packed"} {
			s.play([]step{
				{args: "-s " + store + " set k -- " + value},
				{args: "-s " + store + " get k", stdout: value + "\n"},
			})
		}
	}
	for _, value := range []string{"1e400", `{"a":[1e400]}`, "18446744073709551616", "-9223372036854775809", `{"a":123456789012345678901234567890}`} {
		s.play([]step{
			{args: "-s packed set k -- " + value, code: exitUsage, stderr: "a number that its codec can't hold"},
			{args: "-s sealed set k -- " + value},
			{args: "-s sealed get k", stdout: value + "\n"},
		})
	}
}

func TestAStoresDefaultTTLIsForEntriesWithoutOne(t *testing.T) {
	t.Parallel()
	s := newShell(t, strings.Replace(layeredConfig, "{driver: memory, default_ttl: 1h}", "{driver: file, path: ./short, default_ttl: 1h}", 1))
	for line, want := range map[string]string{
		"set a 1": "59m", "set b 1 --ttl 10h": "9h59m", "set c 1 --ttl forever": "forever", "add d 1": "59m", "incr e": "59m",
	} {
		if code, _, errs := s.run("", append([]string{"-s", "short"}, strings.Fields(line)...)...); code != exitYes {
			t.Errorf("%s: exit %d, %s", line, code, errs)
		}
		if _, ttl, _ := s.run("", "-s", "short", "ttl", strings.Fields(line)[1]); !strings.HasPrefix(ttl, want) {
			t.Errorf("%s lives for %s, want %s", line, ttl, want)
		}
	}
	s.play([]step{
		{args: "-s short touch c", stdout: "true\n"},
		{args: "-s raw incr n", stdout: "1\n"},
		{args: "-s raw ttl n", stdout: "forever\n"},
	})
	if _, ttl, _ := s.run("", "-s", "short", "ttl", "c"); !strings.HasPrefix(ttl, "59m") {
		t.Errorf("touched, it lives for %s", ttl)
	}
}

func TestAnOutageIsToldThoughApplicationsShallNotSeeIt(t *testing.T) {
	t.Parallel()
	s := newShell(t, layeredConfig)
	s.play([]step{
		{args: "-s lenient get k", code: exitFailed, stderr: "on_error: miss hides that from applications"},
		{args: "-s lenient has k", code: exitFailed, stderr: "on_error: miss"},
		{args: "-s lenient export", code: exitFailed, stderr: "connection refused"},
	})
}

func TestFilesAreLaidOverEachOther(t *testing.T) {
	t.Parallel()
	base := newShell(t, testConfig)
	over := newShell(t, "stores:\n  file: {timeout: 7s}\n")
	base.play([]step{
		{args: "-c " + over.dir + "/config.yaml set k 1"},
		{args: "-c " + over.dir + "/config.yaml init", code: exitUsage, stderr: "give -c once"},
	})
	if _, shown, _ := base.run("", "-c", over.dir+"/config.yaml", "config", "show"); !strings.Contains(shown, over.dir+"/config.yaml:2") {
		t.Errorf("config show:\n%s", shown)
	}
}
