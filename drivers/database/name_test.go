package database

import (
	"strings"
	"testing"
)

func TestTableNamesAreReadAsSQLReadsThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"cache":                             `"cache"`,
		"_c1":                               `"_c1"`,
		"app.cache":                         `"app"."cache"`,
		`app."My Locks"`:                    `"app"."My Locks"`,
		`"My App"."cache"`:                  `"My App"."cache"`,
		`"a""b".c`:                          `"a""b"."c"`,
		`"a.b"`:                             `"a.b"`,
		`"; DROP TABLE cache; --"`:          `"; DROP TABLE cache; --"`,
		`"é"`:                               `"é"`,
		strings.Repeat("x", 63):             `"` + strings.Repeat("x", 63) + `"`,
		"":                                  "",
		"Cache":                             "",
		"1cache":                            "",
		"my cache":                          "",
		"cache;":                            "",
		".cache":                            "",
		"app.":                              "",
		"a.b.c":                             "",
		`"open`:                             "",
		`"a"b`:                              "",
		`""`:                                "",
		`a"b"`:                              "",
		"\"a\x00b\"":                        "",
		"\"a\xff\"":                         "",
		strings.Repeat("x", 64):             "",
		`"` + strings.Repeat("é", 32) + `"`: "",
	} {
		got, err := parseTableName(text)
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("parseTableName(%q) = %s, %v; want %s", text, got, err, want)
		}
	}
}

// What is accepted is one or two quoted identifiers and nothing else, and
// means the same when it is read again.
func FuzzTableName(f *testing.F) {
	for _, seed := range []string{"cache", `app."My Locks"`, `"a""b"."c.d"`, `"`, `"""`, `""""`, `a."b`, "A", "a..b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, err := parseTableName(text)
		if err != nil {
			return
		}
		again, err := parseTableName(string(name))
		if err != nil || again != name {
			t.Errorf("%q became %s, and that %s, %v", text, name, again, err)
		}
		inside, quotes := false, 0
		for _, r := range string(name) {
			if r == '"' {
				inside = !inside
				quotes++
			} else if !inside && r != '.' {
				t.Errorf("%q became %s, with %q outside of quotes", text, name, r)
			}
		}
		if inside || quotes < 2 {
			t.Errorf("%q became %s, which is not quoted", text, name)
		}
	})
}
