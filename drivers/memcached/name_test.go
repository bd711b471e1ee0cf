package memcached

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cachewright/cachewright/sdk"
)

func TestMostKeysAreTheirOwnNames(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"app:user/42", "Zoë", "日本語", "😀", `C:\a`, "{tag}", strings.Repeat("k", maxName), strings.Repeat("é", maxName/2),
	} {
		if got := valueName(key); got != key {
			t.Errorf("%q is named %q", key, got)
		}
	}
}

func TestNamesOfOtherKeys(t *testing.T) {
	t.Parallel()
	lock := func(key string) string { return leaseName(sdk.LeaseRequest{Strategy: sdk.StrategyExclusive, Key: key}) }
	for _, test := range []struct{ got, want string }{
		{valueName("two words"), "two%20words"},
		{valueName("a\r\nset b 0 0 1\r\nx"), "a%0d%0aset%20b%200%200%201%0d%0ax"},
		{valueName("50%"), "50%25"},
		{valueName("~/a"), "%7e/a"},
		{valueName("\x7f"), "%7f"},
		{valueName("two%20words"), "two%2520words"},
		{
			valueName(strings.Repeat("k", maxName+1)),
			strings.Repeat("k", 185) + "~" + "3b8059c637939a483bdc7beef09f11b566581be6d14e25083b3041b77717de02",
		},
		{lock("jobs"), "~exclusive:jobs"},
		{lock("~"), "~exclusive:%7e"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}

func TestALongNameIsCutBetweenLetters(t *testing.T) {
	t.Parallel()
	name := valueName("k" + strings.Repeat("é", 200)) // the head would end within a letter
	head, _, _ := strings.Cut(name, "~")
	if want := "k" + strings.Repeat("é", 92); head != want || len(name) != maxName {
		t.Errorf("%d bytes: %q", len(name), head)
	}
}

// Whatever they spell, no two keys meet.
func TestKeysThatLookAlikeHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 300)
	keys := []string{
		"a b", "a_b", "a+b", "a%20b", "a%b", "a\tb", "a\nb", "ab", "A B", "~", "%7e", "%", "%%", "~lease:a", "~exclusive:a",
		long, long + "k", long[:185], valueName(long), "~" + long, long + "~",
	}
	seen := make(map[string]string)
	for _, key := range keys {
		for space, name := range map[string]string{
			"value":     valueName(key),
			"lease":     leaseName(sdk.LeaseRequest{Strategy: sdk.StrategyLease, Key: key}),
			"exclusive": leaseName(sdk.LeaseRequest{Strategy: sdk.StrategyExclusive, Key: key}),
		} {
			what := fmt.Sprintf("%s %.30q", space, key)
			if other, taken := seen[name]; taken {
				t.Errorf("%s and %s are both named %q", what, other, name)
			}
			seen[name] = what
		}
	}
}

func FuzzName(f *testing.F) {
	f.Add("a b", "a%20b")
	f.Add(strings.Repeat("k", 300), strings.Repeat("k", 301))
	f.Add("~exclusive:a", "a")
	f.Fuzz(func(t *testing.T, one, other string) {
		if one == "" || other == "" || one == other {
			return
		}
		names := []string{
			valueName(one), valueName(other),
			leaseName(sdk.LeaseRequest{Strategy: sdk.StrategyExclusive, Key: one}), leaseName(sdk.LeaseRequest{Strategy: sdk.StrategyLease, Key: one}),
		}
		for i, name := range names {
			if len(name) > maxName || len(name) == 0 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
				t.Errorf("%q is no name for the server", name)
			}
			for _, earlier := range names[:i] {
				if name == earlier {
					t.Errorf("%q and %q meet in %q", one, other, name)
				}
			}
		}
	})
}
