package drivertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

var batchCases = []Case{
	{
		Name: "batch/get",
		Rule: "GetMany answers each key at its place: hits, misses, and a key that is asked twice.",
		Run:  getMany,
	},
	{
		Name: "batch/nothing",
		Rule: "A batch of nothing is no error.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			found, err := c.GetMany(ctx, nil)
			if len(found) != 0 || err != nil {
				t.Errorf("GetMany of no keys = %d answers, %v", len(found), err)
			}
			if err := c.SetMany(ctx, nil); err != nil {
				t.Errorf("SetMany of nothing: %v", err)
			}
			if n, err := c.DeleteMany(ctx, nil); n != 0 || err != nil {
				t.Errorf("DeleteMany of no keys = %d, %v", n, err)
			}
		},
	},
	{
		Name: "batch/set",
		Rule: "SetMany stores every entry with its own TTL; of two entries with one key the later counts.",
		Run:  setMany,
	},
	{
		Name: "batch/delete",
		Rule: "DeleteMany removes the keys and counts those that were live, each once.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			keys := c.keys(5, "k")
			for _, key := range keys[:3] {
				c.set(key, "v", sdk.NoExpiry)
			}
			c.set(c.key("other"), "v", sdk.NoExpiry)
			n, err := c.DeleteMany(ctx, append(keys, keys[0], keys[4]))
			if n != 3 || err != nil {
				t.Errorf("DeleteMany of 3 live keys and 2 absent ones = %d, %v; want 3, nil", n, err)
			}
			for _, key := range keys {
				c.misses(key)
			}
			c.holds(c.key("other"), "v")
		},
	},
	{
		Name: "batch/many-keys",
		Rule: "A batch of more than a thousand keys is answered in full.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			keys := c.keys(1200, "k")
			entries := make([]sdk.Entry, len(keys))
			for i, key := range keys {
				entries[i] = sdk.Entry{Key: key, Value: []byte("of " + key)}
			}
			if err := c.SetMany(ctx, entries); err != nil {
				t.Fatalf("SetMany of %d entries: %v", len(entries), err)
			}
			c.answers(keys, func(i int) string { return "of " + keys[i] })
			if n, err := c.DeleteMany(ctx, keys); n != len(keys) || err != nil {
				t.Errorf("DeleteMany of %d live keys = %d, %v", len(keys), n, err)
			}
			c.answers(keys, func(int) string { return "" })
		},
	},
	{
		Name: "batch/large",
		Rule: "Batches whose values outgrow one message are stored and answered in full.",
		Run:  largeBatch,
	},
	{
		Name: "batch/crossing",
		Rule: "Batches over the same keys in opposite orders don't stop each other.",
		Run:  crossingBatches,
	},
	{
		Name: "batch/one-too-large",
		Rule: "A batch with a value that is too large fails with ErrTooLarge, names that key, and stores the others.",
		Except: func(tr sdk.Traits) string {
			if tr.MaxValue <= 0 || tr.MaxValue > 32<<20 {
				return "the store announces no limit that a message could exceed"
			}
			return ""
		},
		Run: oneTooLarge,
	},
}

// answers fails unless GetMany gives each key what want says; "" is a miss.
func (c check) answers(keys []string, want func(i int) string) {
	found, err := c.GetMany(c.ctx, keys)
	if err != nil || len(found) != len(keys) {
		c.t.Fatalf("GetMany of %d keys gave %d answers: %v", len(keys), len(found), err)
	}
	for i, key := range keys {
		got, value := found[i], want(i)
		if got.Err != nil || got.OK != (value != "") || string(got.Value) != value {
			c.t.Errorf("GetMany: answer %d, of %s, is %s, %t, %v; want %s", i, show(key), show(got.Value), got.OK, got.Err, show(value))
			return
		}
	}
}

func getMany(ctx context.Context, t T) {
	c := on(ctx, t)
	keys := c.keys(6, "k")
	values := []string{"zero", "", "two", "three", "", "five"}
	for i, value := range values {
		if value != "" {
			c.set(keys[i], value, sdk.NoExpiry)
		}
	}
	order := []int{5, 0, 0, 1, 3, 5, 4, 2, 1, 0}
	asked := make([]string, len(order))
	for i, n := range order {
		asked[i] = keys[n]
	}
	c.answers(asked, func(i int) string { return values[order[i]] })
	c.answers(keys[4:5], func(int) string { return "" })
	c.answers([]string{keys[2], keys[2]}, func(int) string { return "two" })
}

func setMany(ctx context.Context, t T) {
	c := on(ctx, t)
	start := time.Now()
	err := c.SetMany(ctx, []sdk.Entry{
		{Key: c.key("twice"), Value: []byte("first"), TTL: c.soon()},
		{Key: c.key("short"), Value: []byte("v"), TTL: c.soon()},
		{Key: c.key("hour"), Value: []byte("v"), TTL: time.Hour},
		{Key: c.key("forever"), Value: []byte("v")},
		{Key: c.key("empty")},
		{Key: c.key("twice"), Value: []byte("second")},
	})
	if err != nil {
		t.Fatalf("SetMany: %v", err)
	}
	c.holds(c.key("twice"), "second")
	c.holds(c.key("empty"), "")
	c.lives(c.key("hour"), time.Hour)
	c.lives(c.key("forever"), sdk.NoExpiry)
	c.gone(c.key("short"))
	if took := time.Since(start); took < c.soon() {
		t.Errorf("an entry of a batch with a TTL of %v was a miss after %v", c.soon(), took)
	}
	c.holds(c.key("twice"), "second")
}

// largeBatch moves some 36 MiB, in values that every backend takes.
func largeBatch(ctx context.Context, t T) {
	c := on(ctx, t)
	value := string(noise(1<<20 - 8<<10))
	if most := c.Traits().MaxValue; most > 0 && most < int64(len(value)) {
		value = value[:most]
	}
	keys := c.keys(36, "k")
	entries := make([]sdk.Entry, len(keys))
	for i, key := range keys {
		entries[i] = sdk.Entry{Key: key, Value: []byte(value), TTL: time.Hour}
	}
	if err := c.SetMany(ctx, entries); err != nil {
		t.Fatalf("SetMany of %d large values: %v", len(entries), err)
	}
	c.answers(append(keys, c.key("absent"), keys[0]), func(i int) string {
		if i == len(keys) {
			return ""
		}
		return value
	})
	c.DeleteMany(ctx, keys)
}

func crossingBatches(ctx context.Context, t T) {
	c := on(ctx, t)
	keys := c.keys(50, "k")
	together(8, func(i int) {
		order := slices.Clone(keys)
		entries := make([]sdk.Entry, len(keys))
		if i%2 == 1 {
			slices.Reverse(order)
		}
		for n, key := range order {
			entries[n] = sdk.Entry{Key: key, Value: []byte("v"), TTL: time.Hour}
		}
		for round := range 4 {
			var err error
			if (i/2+round)%3 == 2 {
				_, err = c.DeleteMany(ctx, order)
			} else {
				err = c.SetMany(ctx, entries)
			}
			if err != nil {
				t.Errorf("a batch that crosses others: %v", err)
			}
		}
	})
	if err := c.SetMany(ctx, []sdk.Entry{{Key: keys[0], Value: []byte("after")}}); err != nil {
		t.Errorf("SetMany: %v", err)
	}
	c.holds(keys[0], "after")
}

func oneTooLarge(ctx context.Context, t T) {
	c := on(ctx, t)
	err := c.SetMany(ctx, []sdk.Entry{
		{Key: c.key("first"), Value: []byte("v")},
		{Key: c.key("large"), Value: []byte(strings.Repeat("x", int(c.Traits().MaxValue)+1))},
		{Key: c.key("last"), Value: []byte("v")},
	})
	var batch *sdk.BatchError
	if !errors.Is(err, sdk.ErrTooLarge) || !errors.As(err, &batch) {
		t.Fatalf("SetMany with one value too large: %v; want a BatchError that matches ErrTooLarge", err)
	}
	if len(batch.Failed) != 1 || batch.Failed[0].Key != c.key("large") {
		t.Errorf("the BatchError names %d keys, the first %s; want the large one only", len(batch.Failed), show(batch.Failed[0].Key))
	}
	c.holds(c.key("first"), "v")
	c.holds(c.key("last"), "v")
	c.misses(c.key("large"))
}
