package drivertest

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

var listing = []sdk.Capability{sdk.CanList}

var listCases = []Case{
	{
		Name:  "list/prefix",
		Rule:  "Keys lists the live keys that start with the prefix, all of them and no others, in their own spelling.",
		Needs: listing,
		Run:   listPrefix,
	},
	{
		Name:  "list/literal",
		Rule:  "A prefix is text: wildcards, escapes and quotes in it match themselves only.",
		Needs: listing,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			for _, wild := range wildcards {
				c.set(c.key(wild+"/in"), "v", sdk.NoExpiry)
			}
			for _, plain := range []string{"x/in", "xx/in", "a/in", "A/in", "/in", "é/in"} {
				c.set(c.key(plain), "v", sdk.NoExpiry)
			}
			for _, wild := range wildcards {
				c.lists(c.key(wild+"/"), c.key(wild+"/in"))
			}
		},
	},
	{
		Name:  "list/pages",
		Rule:  "Whatever the limit, pages end, and keys that stay are listed while others come and go.",
		Needs: listing,
		Run:   listPages,
	},
	{
		Name:  "list/everything",
		Rule:  "An empty prefix lists every key of the store.",
		Needs: listing,
		Alone: true,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			keys := c.keys(20, "k")
			for _, key := range keys {
				c.set(key, "v", sdk.NoExpiry)
			}
			found := c.list("", 7)
			for _, key := range keys {
				if found[key] == 0 {
					t.Errorf("Keys with an empty prefix doesn't list %s", show(key))
				}
			}
		},
	},
	{
		Name:  "list/hostile",
		Rule:  "A listed key is spelled as it was stored, whatever is in it.",
		Needs: listing,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			var keys []string
			for _, hostile := range hostileKeys {
				keys = append(keys, c.key(hostile))
			}
			for _, size := range []int{249, 250, 251, 255, 256, 512, c.Traits().MaxKey} {
				if size <= c.Traits().MaxKey {
					keys = append(keys, c.sized(size, "z"))
				}
			}
			for _, key := range keys {
				c.set(key, "v", sdk.NoExpiry)
			}
			c.lists(c.key(""), keys...)
		},
	},
}

// wildcards are prefixes that some pattern language reads as more than text.
var wildcards = []string{"*", "?", "[a-z]", "[^a]", "a*", "a?", "%", "_", "a_", `\`, `\*`, `a\`, "{a,x}", ".*", "(a|x)", "$", "^", "'", `"`, "~"}

// list collects all pages, and how often each key was listed.
func (c check) list(prefix string, limit int) map[string]int {
	found := make(map[string]int)
	var cursor []byte
	for end := time.Now().Add(patience); time.Now().Before(end); {
		keys, next, err := c.Keys(c.ctx, prefix, cursor, limit)
		if err != nil {
			c.t.Fatalf("Keys(%s): %v", show(prefix), err)
		}
		for _, key := range keys {
			found[key]++
			if !strings.HasPrefix(key, prefix) {
				c.t.Errorf("Keys(%s) lists %s", show(prefix), show(key))
			}
		}
		if cursor = next; len(cursor) == 0 {
			return found
		}
	}
	c.t.Fatalf("Keys(%s) has not ended after %v", show(prefix), patience)
	return nil
}

// lists fails unless exactly the keys are listed.
func (c check) lists(prefix string, keys ...string) {
	found := c.list(prefix, 100)
	for _, key := range keys {
		if found[key] == 0 {
			c.t.Errorf("Keys(%s) doesn't list %s", show(prefix), show(key))
		}
		delete(found, key)
	}
	for key := range found {
		c.t.Errorf("Keys(%s) lists %s, which nobody stored", show(prefix), show(key))
	}
}

func listPrefix(ctx context.Context, t T) {
	c := on(ctx, t)
	c.lists(c.key("none"))
	for _, name := range []string{"a", "a:1", "a:2", "aa", "ab:1", "A:1", "b"} {
		c.set(c.key(name), "v", sdk.NoExpiry)
	}
	c.set(c.key("a:expired"), "v", c.soon())
	c.set(c.key("a:deleted"), "v", sdk.NoExpiry)
	c.delete(c.key("a:deleted"))
	c.gone(c.key("a:expired"))
	c.lists(c.key("a:"), c.key("a:1"), c.key("a:2"))
	c.lists(c.key("a"), c.key("a"), c.key("a:1"), c.key("a:2"), c.key("aa"), c.key("ab:1"))
	c.lists(c.key("b"), c.key("b"))
	c.lists(c.key("a:1"), c.key("a:1"))
}

// listPages lists while a writer adds and removes keys around those that stay.
func listPages(ctx context.Context, t T) {
	c := on(ctx, t)
	keys := c.keys(60, "p")
	for _, key := range keys {
		c.set(key, "v", sdk.NoExpiry)
	}
	churn, stop := context.WithCancel(ctx)
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := 0; churn.Err() == nil; n++ {
			key := keys[n%len(keys)] + "-passing"
			if err := c.Set(ctx, key, []byte("v"), sdk.NoExpiry); err != nil {
				t.Errorf("Set: %v", err)
			}
			if _, err := c.Delete(ctx, key); err != nil {
				t.Errorf("Delete: %v", err)
			}
		}
	})
	defer writer.Wait()
	defer stop()
	for _, limit := range []int{1, 7, 50, 1000} {
		found := c.list(c.key("p"), limit)
		for _, key := range keys {
			if found[key] == 0 {
				t.Errorf("pages of %d don't list %s, which was there all the time", limit, show(key))
			}
		}
	}
}
