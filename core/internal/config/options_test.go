package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestPathsStartWhereTheyWereWritten(t *testing.T) {
	t.Parallel()
	const text = "default: file\nstores: {file: {driver: file, path: cache, spool: /var/spool}, redis: {driver: redis, tls: {cert: ../c.pem}}}\n"
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		environ []string
		want    func(folder string) string
	}{
		{"the file's folder for the file", nil, func(folder string) string { return filepath.Join(folder, "cache") }},
		{"the working directory for a variable", []string{"CACHE_FILE_PATH=from/env"}, func(string) string { return filepath.Join(here, "from/env") }},
		{"an absolute path is left alone", []string{"CACHEWRIGHT_STORES__FILE__PATH=/abs"}, func(string) string { return "/abs" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := mustLoad(t, text, test.environ...)
			folder := filepath.Dir(c.Path)
			options, err := c.CheckStore("file", standIns["file"])
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "options", options, map[string]any{"path": test.want(folder), "spool": "/var/spool"})
		})
	}
	c := mustLoad(t, text)
	options, err := c.CheckStore("redis", standIns["redis"])
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "nested", options, map[string]any{"tls": map[string]any{"cert": filepath.Join(filepath.Dir(c.Path), "../c.pem")}})
}

func TestADefaultPathStartsAtTheFile(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, "default: a\nstores: {a: {driver: file, path: x}}\n")
	options, err := c.CheckStore("a", standIns["file"])
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "spool", options["spool"], filepath.Join(filepath.Dir(c.Path), "spool"))
}

func TestCheckStoreLeavesTheConfigAlone(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, "default: a\nstores: {a: {driver: redis, db: 1, labels: {x: y}, tls: {cert: c}}}\n")
	before := map[string]any{"db": 1, "labels": map[string]any{"x": "y"}, "tls": map[string]any{"cert": "c"}}
	options, err := c.CheckStore("a", standIns["redis"])
	if err != nil {
		t.Fatal(err)
	}
	options["labels"].(map[string]any)["x"] = "changed"
	options["tls"].(map[string]any)["cert"] = "changed"
	equal(t, "options of the Config", c.Stores["a"].Options, before)
}

// Options travel as JSON, where a number would become a float.
func TestNumbersSurviveJSON(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, "default: a\nstores: {a: {driver: memory, shards: 9007199254740993, max_bytes: 1_048_576, weight: 0.25, dedicated: true}}\n")
	options, err := c.CheckStore("a", standIns["memory"])
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	var received map[string]any
	if err := json.Unmarshal(data, &received); err != nil {
		t.Fatal(err)
	}
	equal(t, "problems after JSON", len(standIns["memory"].Check(received)), 0)
	equal(t, "shards", received["shards"], "9007199254740993")
	equal(t, "max_bytes", received["max_bytes"], "1048576")
	equal(t, "weight", received["weight"], "0.25")
	equal(t, "dedicated", received["dedicated"], true)
}

func TestABuiltinSchemaIsNotACommandDriversSchema(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
default: a
drivers: {redis: {run: command, command: [./my-redis]}}
stores: {a: {driver: redis, whatever: 1}}
`)
	equal(t, "options", c.Stores["a"].Options, map[string]any{"whatever": 1})
}
