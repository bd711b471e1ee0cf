// Package client has the ways to a cache that are compared, each behind the same
// few methods.
package client

import (
	"context"
	"fmt"
	"time"

	"github.com/cachewright/cachewright/bench/internal/contest"
	"golang.org/x/sync/errgroup"
)

// A Client reads and writes values.
type Client interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Set(ctx context.Context, key string, value []byte) error
}

// TTL is that of everything that is written: nothing expires during a run.
const TTL = time.Hour

// Data are the entries that a contest is about.
type Data struct {
	Keys  []string
	Value []byte
}

// NewData makes entries under keys that begin with name.
func NewData(name string, count, size int) Data {
	d := Data{Keys: make([]string, count), Value: make([]byte, size)}
	for i := range d.Keys {
		d.Keys[i] = fmt.Sprintf("%s:%04d", name, i)
	}
	for i := range d.Value {
		d.Value[i] = "cachewright "[i%12]
	}
	return d
}

// Key is the nth key, over and over again.
func (d Data) Key(n int) string { return d.Keys[n%len(d.Keys)] }

// Seed stores all entries.
func (d Data) Seed(ctx context.Context, c Client) error {
	const writers = 16
	var writing errgroup.Group
	for first := range writers {
		writing.Go(func() error {
			for i := first; i < len(d.Keys); i += writers {
				if err := c.Set(ctx, d.Keys[i], d.Value); err != nil {
					return fmt.Errorf("store %s: %w", d.Keys[i], err)
				}
			}
			return nil
		})
	}
	return writing.Wait()
}

// Get is the contender that reads.
func Get(key, title string, c Client, d Data) contest.Contender {
	return contest.Contender{Key: key, Title: title, Call: func(ctx context.Context, n int) error {
		value, err := c.Get(ctx, d.Key(n))
		return d.check(value, err)
	}}
}

// Set is the contender that writes.
func Set(key, title string, c Client, d Data) contest.Contender {
	return contest.Contender{Key: key, Title: title, Call: func(ctx context.Context, n int) error {
		return c.Set(ctx, d.Key(n), d.Value)
	}}
}

// OneByOne is the contender that reads a batch by single reads.
func OneByOne(key, title string, c Client, d Data, batch int) contest.Contender {
	return contest.Contender{Key: key, Title: title, Call: func(ctx context.Context, n int) error {
		for i := range batch {
			value, err := c.Get(ctx, d.Key(n+i))
			if err := d.check(value, err); err != nil {
				return err
			}
		}
		return nil
	}}
}

// check says that a read was worth measuring.
func (d Data) check(value []byte, err error) error {
	if err == nil && len(value) != len(d.Value) {
		err = fmt.Errorf("read %d bytes, want %d", len(value), len(d.Value))
	}
	return err
}

// Window returns batch keys in a row, the nth such.
func (d Data) Window(n, batch int) []string {
	from := n * batch % (len(d.Keys) - batch + 1)
	return d.Keys[from : from+batch]
}
