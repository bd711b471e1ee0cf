package drivertest

import (
	"context"
	"strconv"
	"strings"

	"github.com/cachewright/cachewright/sdk"
)

var keyCases = []Case{
	{
		Name: "keys/hostile",
		Rule: "Any key is a key: paths, dots, control characters, emoji, blanks, quotes and wildcards are letters like others.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			var keys []string
			for _, hostile := range hostileKeys {
				keys = append(keys, c.key(hostile), hostile+t.Unique())
			}
			c.distinct(keys)
		},
	},
	{
		Name: "keys/case-and-form",
		Rule: "Keys are bytes: two that differ in case, in Unicode form, in width or in a blank only are two entries.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			var keys []string
			for _, alike := range likeKeys {
				keys = append(keys, c.key(alike))
			}
			c.distinct(keys)
		},
	},
	{
		Name: "keys/long",
		Rule: "Keys up to the longest announced work, and two that differ in one byte anywhere are two entries.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			longest := c.Traits().MaxKey
			var keys []string
			for _, size := range []int{100, 199, 200, 201, 249, 250, 251, 254, 255, 256, 257, 511, 512, 513, longest - 1, longest} {
				if size > longest {
					continue
				}
				keys = append(keys, c.sized(size, "x"), c.sized(size, "y"), c.sized(size, "é"), c.sized(size, "/"))
				keys = append(keys, strings.Replace(c.sized(size, "x"), ":", ";", 1))
			}
			c.distinct(keys)
		},
	},
	{
		Name: "keys/longest-lock",
		Rule: "The longest key has room for the 64 bytes that a lock strategy may append, and stays another key.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			key := c.sized(c.Traits().MaxKey, "k")
			c.distinct([]string{key, key + "-lock", key + "-Lock", key + strings.Repeat("x", 63) + "1", key + strings.Repeat("x", 63) + "2"})
		},
	},
	{
		Name: "keys/nested",
		Rule: "A key that another extends is another key: a, a/b and a/b/c live side by side.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			var keys []string
			for _, name := range []string{"a", "a/", "a/b", "a/b/c", "a/b/c.tmp", "a-lock", "a.lock", "a:lock", "a\\b", "a%2Fb", "a%b", "a_b", "a..b"} {
				keys = append(keys, c.key(name))
			}
			c.distinct(keys)
		},
	},
	{
		Name: "keys/numeric",
		Rule: "A key that looks like a number is text: in a batch it gets its own value, and 1, 01 and 1.0 are three.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			var keys []string
			for _, number := range []string{"1", "2", "0", "-1", "01", "1.0", "1e0", "+1", "９", "9"} {
				keys = append(keys, c.key(number), number+t.Unique())
			}
			for i := range 20 {
				keys = append(keys, t.Unique()+strconv.Itoa(i))
			}
			c.distinct(keys)
		},
	},
}

var hostileKeys = []string{
	"/", "//", "/etc/passwd", "..", "../", "../../escape", "./a", ".", "~", "~/a", "a/", "/a", `C:\a`, `..\a`, `\`,
	"con", "nul", "aux.txt", "-rf", "--", "key with blanks", " leading", "trailing ", " ", "  ", "\t", "a\tb",
	"\n", "\r\n", "a\r\nset b 0 0 1\r\nx", "\x01", "\x1b[31m", "\x7f", "\u0085", "\u2028", "\ufeff", "\ufffd",
	"*", "?", "a*", "[a-z]", "{a,b}", "%", "_", "a_b", "a%b", "%00", "%2e%2e", "&#0;", "$HOME", "${HOME}", "$(id)", "`id`",
	"'", `"`, "''", `\'`, "'; DROP TABLE cache; --", "1' OR '1'='1", "<script>", "a|b", "a&b", "a;b", "a#b", "a=b", "a,b", "a@b",
	"😀", "😁", "👨‍👩‍👧", "日本語", "العربية", "\u202egnp", "\u200b", "ключ", "{tag}", "{}", "a:b", "a::b", ":", "KEYS *", "FLUSHALL",
}

var likeKeys = []string{
	"key", "Key", "KEY", "kEY", "\u212aey", "ｋey", "key ", " key", "key\u00a0", "key\u200b", "key\t",
	"caf\u00e9", "cafe\u0301", "cafe", "CAF\u00c9", "\u00c5", "A\u030a", "\u212b", "stra\u00dfe", "strasse", "STRASSE",
	"i", "I", "\u0130", "\u0131", "\ufb01n", "fin", "\u03c3", "\u03c2", "\u03a3", "\u01c6", "\u01c5", "\u01c4",
	"1\u20442", "\u00bd", "\u1e9b\u0323", "\u1e9b", "😀", "😁", "❤", "❤\ufe0f", "가", "\u1100\u1161",
}

// sized is a key of the case, size bytes long, that ends in last.
func (c check) sized(size int, last string) string {
	key := c.key("")
	return key + strings.Repeat("k", size-len(key)-len(last)) + last
}

// distinct fails unless all of the keys are entries of their own, for every
// way to reach them.
func (c check) distinct(keys []string) {
	for _, key := range keys {
		c.misses(key)
		c.set(key, "of "+key, sdk.NoExpiry)
	}
	for _, key := range keys {
		c.holds(key, "of "+key)
	}
	found, err := c.GetMany(c.ctx, keys)
	if err != nil || len(found) != len(keys) {
		c.t.Fatalf("GetMany of %d keys gave %d answers: %v", len(keys), len(found), err)
	}
	for i, key := range keys {
		if !found[i].OK || string(found[i].Value) != "of "+key {
			c.t.Errorf("GetMany: key %s has %s, %t, %v; want a value of its own", show(key), show(found[i].Value), found[i].OK, found[i].Err)
		}
	}
	for i, key := range keys {
		c.says("Delete of "+show(key), c.delete(key), true)
		c.misses(key)
		if i+1 < len(keys) {
			c.holds(keys[i+1], "of "+keys[i+1])
		}
	}
}
