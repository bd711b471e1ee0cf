package sdk

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"
)

// everything has an option of each kind.
type everything struct {
	Path    string            `option:"path,required,path"`
	Mode    string            `option:"mode" default:"safe" enum:"safe,fast"`
	Sync    bool              `option:"sync" default:"true"`
	Number  int               `option:"number" default:"3"`
	Big     int64             `option:"big"`
	Ratio   float64           `option:"ratio" default:"0.5"`
	Sweep   time.Duration     `option:"sweep" default:"1m"`
	Max     Bytes             `option:"max" default:"64MiB"`
	Servers []string          `option:"servers"`
	Labels  map[string]string `option:"labels"`
	Secret  string            `option:"password,secret"`
	Limit   *int64            `option:"limit"`
	TLS     struct {
		Cert  string `option:"cert,path"`
		Inner struct {
			Deep int `option:"deep" default:"7"`
		} `option:"inner"`
	} `option:"tls"`
	Other string // no option
}

func schemaOf[C any](t testing.TB) Schema {
	t.Helper()
	d := Define("test", "1", func(context.Context, C) (*fakeStore, error) { return &fakeStore{}, nil })
	if err := d.Err(); err != nil {
		t.Fatal(err)
	}
	return d.Schema
}

func TestCheckReportsEveryProblem(t *testing.T) {
	t.Parallel()
	schema := schemaOf[everything](t)
	names := "is not an option; there are path, mode, sync, number, big, ratio, sweep, max, servers, labels, password, limit, tls.cert, tls.inner.deep"
	for name, tc := range map[string]struct {
		options string
		want    []Problem
	}{
		"nothing is wrong":                {`{"path": "x"}`, nil},
		"a required option is missing":    {`{}`, []Problem{{"path", "is required"}}},
		"null is as missing":              {`{"path": null}`, []Problem{{"path", "is required"}}},
		"a required text is empty":        {`{"path": ""}`, []Problem{{"path", "must not be empty"}}},
		"a number where text is wanted":   {`{"path": 5}`, []Problem{{"path", "wants text; put it in quotes"}}},
		"a text outside the enum":         {`{"path": "x", "mode": "wild"}`, []Problem{{"mode", "must be one of safe, fast"}}},
		"a bare number as duration":       {`{"path": "x", "sweep": 60}`, []Problem{{"sweep", "wants a duration with a unit, such as 60s"}}},
		"the same as text":                {`{"path": "x", "sweep": "60"}`, []Problem{{"sweep", "wants a duration with a unit, such as 60s"}}},
		"zero without a unit":             {`{"path": "x", "sweep": "0"}`, []Problem{{"sweep", "wants a duration with a unit, such as 60s"}}},
		"yes is not true":                 {`{"path": "x", "sync": "yes"}`, []Problem{{"sync", "wants true or false"}}},
		"a fraction as whole number":      {`{"path": "x", "number": 1.5}`, []Problem{{"number", "wants a whole number"}}},
		"a truth as number":               {`{"path": "x", "number": true}`, []Problem{{"number", "wants a whole number"}}},
		"an integer beyond int64":         {`{"path": "x", "big": 9223372036854775808}`, []Problem{{"big", "wants a whole number"}}},
		"no number":                       {`{"path": "x", "ratio": "NaN"}`, []Problem{{"ratio", "wants a number"}}},
		"half a byte":                     {`{"path": "x", "max": "1.5B"}`, []Problem{{"max", "wants a number of bytes, such as 64MiB"}}},
		"numbers in a list of texts":      {`{"path": "x", "servers": ["a", 1]}`, []Problem{{"servers", "wants a list of texts; put item 2 in quotes"}}},
		"a map as list":                   {`{"path": "x", "servers": {}}`, []Problem{{"servers", "wants a list of texts"}}},
		"a number in a map of texts":      {`{"path": "x", "labels": {"a": 1}}`, []Problem{{"labels", "wants texts; put the value of a in quotes"}}},
		"a text where options are nested": {`{"path": "x", "tls": "yes"}`, []Problem{{"tls", "wants nested options"}}},
		"nothing where they are nested":   {`{"path": "x", "tls": null}`, nil},
		"an unknown key":                  {`{"path": "x", "maxx": 1}`, []Problem{{"maxx", names}}},
		"an unknown nested key":           {`{"path": "x", "tls": {"key": 1}}`, []Problem{{"tls.key", names}}},
		"a second spelling of a nested":   {`{"path": "x", "tls.cert": "a"}`, []Problem{{`"tls.cert"`, names}}},
		"several at once, in order": {`{"zz": 1, "aa": 1, "sync": 0, "number": "x"}`, []Problem{
			{"path", "is required"}, {"sync", "wants true or false"}, {"number", "wants a whole number"}, {"aa", names}, {"zz", names},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options, err := decodeOptions([]byte(tc.options))
			if err != nil {
				t.Fatal(err)
			}
			if got := schema.Check(options); !slices.Equal(got, tc.want) {
				t.Errorf("Check(%s) =\n%v\nwant\n%v", tc.options, got, tc.want)
			}
		})
	}
}

func TestRequiredListsAndMapsMustNotBeEmpty(t *testing.T) {
	t.Parallel()
	schema := schemaOf[struct {
		List []string          `option:"list,required"`
		Map  map[string]string `option:"map,required"`
	}](t)
	want := []Problem{{"list", "must not be empty"}, {"map", "must not be empty"}}
	if got := schema.Check(map[string]any{"list": []any{}, "map": map[string]any{}}); !slices.Equal(got, want) {
		t.Errorf("Check = %v, want %v", got, want)
	}
}

func TestADriverWithoutOptionsSaysSo(t *testing.T) {
	t.Parallel()
	want := []Problem{{"x", "is not an option; this driver has none"}}
	if got := (Schema{}).Check(map[string]any{"x": 1}); !slices.Equal(got, want) {
		t.Errorf("Check = %v, want %v", got, want)
	}
}

func TestProblemsNeverShowAValue(t *testing.T) {
	t.Parallel()
	schema := schemaOf[everything](t)
	const secret = "hunter2"
	for _, o := range schema {
		for _, v := range []any{secret, json.Number(secret), []any{secret}, map[string]any{"k": secret}} {
			for _, p := range schema.Check(nest(o.Name, v)) {
				if contains(p.Reason, secret) {
					t.Errorf("%s: %v shows the value", o.Name, p)
				}
			}
		}
	}
}
