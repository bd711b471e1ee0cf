package file

import (
	"encoding/hex"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

func TestFileNamesStayReadable(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"app:users:42":               "app=users=42",
		"app:User/42":                "app=^user+42",
		"reports 2026.csv":           "reports%202026.csv",
		".hidden":                    "%2ehidden",
		".":                          "%2e",
		"..":                         "%2e%2e",
		"../../etc/passwd":           "%2e.+..+etc+passwd",
		"v1.":                        "v1%2e",
		"~":                          "%7e",
		"é":                          "%c3%a9",
		"a=b^c+d%41":                 "a%3db%5ec%2bd%2541",
		".lock":                      "%2elock",
		".tmp-x":                     "%2etmp-x",
		strings.Repeat("k", maxName): strings.Repeat("k", maxName),
		strings.Repeat("k", 200): strings.Repeat("k", maxHead) +
			"~6de3c288691037361962041f2273f381658187e426187979e0273d026ea1b946",
	} {
		if got := fileName(key); got != want {
			t.Errorf("the key %q lies in %q, want %q", key, got, want)
		}
	}
}

// folded is what a file system that ignores case and form makes of a name.
func folded(name string) string { return strings.ToLower(norm.NFD.String(name)) }

func TestFileNamesDifferOnAnyFileSystem(t *testing.T) {
	t.Parallel()
	keys := []string{
		"a", "A", "a.", "a..", ".a", "a ", " a", "a\t", "a:b", "a/b", "a=b", "a+b", "a\\b", "a%3ab", "a%3Ab", "^a", "^A",
		"é", "e\u0301", "É", "ss", "ß", "İ", "i\u0307", "🙂", "🙃", "con", "NUL.txt", "~", "a~b", "a*", "a?", "\x01", "\x7f",
		strings.Repeat("k", 143), strings.Repeat("K", 143), strings.Repeat("k", 144), strings.Repeat("k", 1024),
		strings.Repeat("k", 1023) + "K", strings.Repeat("é", 512), strings.Repeat("k", 142) + ".",
		fileName(strings.Repeat("k", 1024)),
	}
	seen := make(map[string]string)
	for _, key := range keys {
		name := folded(fileName(key))
		if other, taken := seen[name]; taken {
			t.Errorf("%q and %q share the name %q", key, other, name)
		}
		seen[name] = key
	}
}

// unescape reads a short name back.
func unescape(t *testing.T, name string) string {
	var key []byte
	for i := 0; i < len(name); i++ {
		switch c := name[i]; c {
		case '^':
			i++
			key = append(key, name[i]&^0x20)
		case '=':
			key = append(key, ':')
		case '+':
			key = append(key, '/')
		case '%':
			b, err := hex.DecodeString(name[i+1 : i+3])
			if err != nil {
				t.Fatalf("%q: %v", name, err)
			}
			key, i = append(key, b...), i+2
		default:
			key = append(key, c)
		}
	}
	return string(key)
}

func FuzzFileName(f *testing.F) {
	for _, key := range []string{"a", ".", "a.", "App:Users/42", strings.Repeat("é", 100), strings.Repeat("x", 144)} {
		f.Add(key, 1)
	}
	f.Fuzz(func(t *testing.T, key string, cut int) {
		if key == "" {
			return
		}
		name := fileName(key)
		switch {
		case len(name) > maxName || name[0] == '.' || name[len(name)-1] == '.':
			t.Fatalf("%q has the unusable name %q", key, name)
		case strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.^=+%~") != "":
			t.Fatalf("%q has the name %q outside the alphabet", key, name)
		case !isEntry(name) || isTemp(name):
			t.Fatalf("%q has the name %q, which is the store's own", key, name)
		}
		if !strings.Contains(name, "~") && unescape(t, name) != key {
			t.Fatalf("%q has the name %q, which reads %q", key, name, unescape(t, name))
		}
		checkPrefixes(t, key, name, cut)
	})
}

// checkPrefixes compares the verdict on a name with the key's own.
func checkPrefixes(t *testing.T, key, name string, cut int) {
	at := cut & 0x7fffffff % (len(key) + 1)
	for _, prefix := range []string{key[:at], key[:at] + "x", key + ".", strings.ToUpper(key[:at])} {
		matches, sure := newPrefixFilter(prefix).match(name)
		if want := strings.HasPrefix(key, prefix); sure && matches != want {
			t.Fatalf("does %q start with %q? its name %q says %v", key, prefix, name, matches)
		}
		if !sure && !strings.Contains(name, "~") {
			t.Fatalf("the whole name %q of %q leaves the prefix %q open", name, key, prefix)
		}
	}
}
