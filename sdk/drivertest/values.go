package drivertest

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"

	"github.com/cachewright/cachewright/sdk"
)

var valueCases = []Case{
	{
		Name: "values/round-trip",
		Rule: "What Set stores, Get returns, byte for byte; a later Set replaces all of it.",
		Run:  roundTrip,
	},
	{
		Name: "values/miss",
		Rule: "A key that is absent is a miss and not an error.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			c.misses(c.key("absent"))
			c.says("Delete of an absent key", c.delete(c.key("absent")), false)
		},
	},
	{
		Name: "values/empty",
		Rule: "An empty value is a hit of no bytes; it is not a missing key.",
		Run:  emptyValue,
	},
	{
		Name: "values/binary",
		Rule: "A value is any bytes: NUL, invalid UTF-8 and line ends come back as they were.",
		Run:  binaryValue,
	},
	{
		Name: "values/look-alikes",
		Rule: "A value that looks like a null, a number or a serialised object is bytes like any other.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			for _, value := range lookAlikes {
				c.set(c.key("k"), value, sdk.NoExpiry)
				c.holds(c.key("k"), value)
			}
		},
	},
	{
		Name: "values/large",
		Rule: "A value of 5 MiB, or the largest that the store announces, comes back whole.",
		Run:  largeValue,
	},
	{
		Name: "values/too-large",
		Rule: "A value above the announced limit is ErrTooLarge, never a silent loss, and the entry stays as it was.",
		Except: func(tr sdk.Traits) string {
			if tr.MaxValue <= 0 || tr.MaxValue > 32<<20 {
				return "the store announces no limit that a message could exceed"
			}
			return ""
		},
		Run: tooLarge,
	},
	{
		Name: "values/delete",
		Rule: "Delete removes the entry and reports whether a live one was there.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			c.set(c.key("k"), "v", sdk.NoExpiry)
			c.says("the first Delete", c.delete(c.key("k")), true)
			c.misses(c.key("k"))
			c.says("the second Delete", c.delete(c.key("k")), false)
		},
	},
	{
		Name: "values/caller-keeps-slice",
		Rule: "The slice given to a write is the caller's again after the return: changing it changes no entry.",
		Run:  callerKeepsSlice,
	},
	{
		Name: "values/result-stays",
		Rule: "The slice that a read returned stays as it was while the entry is overwritten, counted and deleted.",
		Run:  resultStays,
	},
}

var lookAlikes = []string{
	"null", "nil", "None", "undefined", "0", "1", "false", "true", "{}", "[]", `""`, "N;", "b:0;",
	"9223372036854775808", "1e400", "\x80\x04N.", "\xc0", "\r\n", "END\r\n", "$-1\r\n", "*0\r\n", "'; DROP TABLE cache; --",
}

func roundTrip(ctx context.Context, t T) {
	c := on(ctx, t)
	for _, value := range []string{"a", `{"name":"Zoë"}`, strings.Repeat("long ", 5000), "short"} {
		c.set(c.key("k"), value, sdk.NoExpiry)
		c.holds(c.key("k"), value)
	}
	c.misses(c.key("another"))
}

func emptyValue(ctx context.Context, t T) {
	c := on(ctx, t)
	present, absent := c.key("present"), c.key("absent")
	if err := c.Set(ctx, present, nil, sdk.NoExpiry); err != nil {
		t.Fatalf("Set of nil: %v", err)
	}
	c.holds(present, "")
	c.set(present, "text", sdk.NoExpiry)
	c.set(present, "", sdk.NoExpiry)
	c.holds(present, "")
	c.misses(absent)

	found, err := c.GetMany(ctx, []string{present, absent})
	if err != nil || len(found) != 2 {
		t.Fatalf("GetMany of two keys gave %d answers: %v", len(found), err)
	}
	c.says("GetMany finds the empty value", found[0].OK, true)
	c.says("GetMany finds the absent key", found[1].OK, false)
	if c.has(sdk.CanAdd) {
		c.says("Add over an empty value", c.add(present, "new", sdk.NoExpiry), false)
	}
	if c.has(sdk.CanReplace) {
		c.says("Replace of an empty value", c.replace(present, "", sdk.NoExpiry), true)
	}
	if c.has(sdk.CanPull) {
		value, ok, err := c.Pull(ctx, present)
		if err != nil || !ok || len(value) != 0 {
			t.Errorf("Pull of an empty value = %s, %t, %v; want a hit of no bytes", show(value), ok, err)
		}
		c.misses(present)
		return
	}
	c.says("Delete of an empty value", c.delete(present), true)
}

func binaryValue(ctx context.Context, t T) {
	c := on(ctx, t)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, value := range []string{string(all), "\x00", "a\x00b", "\xff\xfe", "\xed\xa0\x80", "\n", "line\r\nend\r\n", " padded "} {
		c.set(c.key("k"), value, sdk.NoExpiry)
		c.holds(c.key("k"), value)
	}
}

func largeValue(ctx context.Context, t T) {
	c := on(ctx, t)
	size := 5 << 20
	if most := c.Traits().MaxValue; most > 0 && most < int64(size) {
		size = int(most)
	}
	value := noise(size)
	err := c.Set(ctx, c.key("large"), value, sdk.NoExpiry)
	if errors.Is(err, sdk.ErrTooLarge) && c.Traits().MaxValue == 0 {
		t.Logf("the store announces no limit and refused %d bytes: %v", size, err)
		c.misses(c.key("large"))
		return
	}
	if err != nil {
		t.Fatalf("Set of %d bytes: %v", size, err)
	}
	got, ok, err := c.Get(ctx, c.key("large"))
	if err != nil || !ok || !bytes.Equal(got, value) {
		t.Errorf("Get of %d bytes gave %d, %t, %v, equal: %t", size, len(got), ok, err, bytes.Equal(got, value))
	}
	c.set(c.key("large"), "short", sdk.NoExpiry)
	c.holds(c.key("large"), "short")
	if c.Traits().MaxValue > 0 {
		longest := c.sized(c.Traits().MaxKey, "k")
		if err := c.Set(ctx, longest, value, sdk.NoExpiry); err != nil {
			t.Errorf("Set of %d bytes, within the limit, under the longest key: %v", size, err)
		}
	}
}

func tooLarge(ctx context.Context, t T) {
	c := on(ctx, t)
	most := int(c.Traits().MaxValue)
	c.set(c.key("k"), "before", sdk.NoExpiry)
	err := c.Set(ctx, c.key("k"), noise(most+1), sdk.NoExpiry)
	if !errors.Is(err, sdk.ErrTooLarge) {
		t.Errorf("Set of %d bytes, one above the limit: %v; want ErrTooLarge", most+1, err)
	}
	c.holds(c.key("k"), "before")
	if c.has(sdk.CanAdd) {
		if added, err := c.Add(ctx, c.key("new"), noise(most+1), sdk.NoExpiry); added || !errors.Is(err, sdk.ErrTooLarge) {
			t.Errorf("Add of %d bytes = %t, %v; want false, ErrTooLarge", most+1, added, err)
		}
		c.misses(c.key("new"))
	}
}

func callerKeepsSlice(ctx context.Context, t T) {
	c := on(ctx, t)
	value := []byte("original")
	scribble := func(op string, err error) {
		if err != nil {
			t.Fatalf("%s: %v", op, err)
		}
		copy(value, "SCRIBBLE")
		c.holds(c.key("k"), "original")
		copy(value, "original")
	}
	scribble("Set", c.Set(ctx, c.key("k"), value, sdk.NoExpiry))
	scribble("SetMany", c.SetMany(ctx, []sdk.Entry{{Key: c.key("k"), Value: value}}))
	if c.has(sdk.CanReplace) {
		_, err := c.Replace(ctx, c.key("k"), value, sdk.NoExpiry)
		scribble("Replace", err)
	}
	if c.has(sdk.CanAdd) {
		c.delete(c.key("k"))
		_, err := c.Add(ctx, c.key("k"), value, sdk.NoExpiry)
		scribble("Add", err)
	}
}

func resultStays(ctx context.Context, t T) {
	c := on(ctx, t)
	c.set(c.key("k"), "1234567", sdk.NoExpiry)
	first, _, err := c.Get(ctx, c.key("k"))
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	many, err := c.GetMany(ctx, []string{c.key("k")})
	if err != nil || len(many) != 1 {
		t.Fatalf("GetMany of one key gave %d answers: %v", len(many), err)
	}
	c.set(c.key("k"), "7654321", sdk.NoExpiry)
	if c.has(sdk.CanIncrement) {
		c.increment(c.key("k"), 1, sdk.NoExpiry)
	}
	c.delete(c.key("k"))
	c.set(c.key("k"), "0000000", sdk.NoExpiry)
	if string(first) != "1234567" || string(many[0].Value) != "1234567" {
		t.Errorf("after later writes the results of Get and GetMany read %s and %s; want %q", show(first), show(many[0].Value), "1234567")
	}
}

// noise is bytes that no backend compresses, the same for every size.
func noise(size int) []byte {
	b := make([]byte, size)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}
