package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	cache "github.com/cachewright/cachewright/core"
	"github.com/spf13/cobra"
)

// write are the flags of commands that write a value.
type write struct {
	raw bool
	ttl lifetime
}

func (w *write) flags(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&w.raw, "raw", false, "the value is bytes, stored as they are")
	w.ttl.flag(cmd)
	return cmd
}

// A lifetime is the flag --ttl. Left out, it is the store's default_ttl, or for
// ever where there is none.
type lifetime struct {
	ttl   time.Duration
	given bool
}

func (l *lifetime) flag(cmd *cobra.Command) {
	cmd.Flags().Var(l, "ttl", "how long the entry lives, such as 90s, or forever (left out, the store's default_ttl, else forever)")
}

func (l *lifetime) Type() string { return "duration" }

// String is nothing: there is no default that help could show.
func (l *lifetime) String() string { return "" }

func (l *lifetime) Set(text string) error {
	if text == "forever" {
		l.ttl, l.given = cache.Forever, true
		return nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return errors.New("give a duration with a unit, such as 90s or 24h (units are h, m, s and ms), or forever")
	case d <= 0:
		return errors.New("an entry needs a time to live above zero, such as 90s, or forever")
	}
	l.ttl, l.given = d, true
	return nil
}

// in is the TTL for a store.
func (l *lifetime) in(about aboutStore) time.Duration {
	switch {
	case l.given:
		return l.ttl
	case about.defaultTTL:
		return cache.DefaultTTL
	}
	return cache.Forever
}

// An aboutStore is what commands have to know of the store of -s.
type aboutStore struct {
	codec      string
	defaultTTL bool // it has one
}

func (a *app) learn(ctx context.Context, m *cache.CacheManager, store string) error {
	for _, info := range m.Stores() {
		if info.Name == store {
			a.about.codec = info.Codec
		}
	}
	settings, err := m.Settings(ctx, false)
	for _, s := range settings {
		if s.Key == "stores."+store+".default_ttl" {
			a.about.defaultTTL = true
		}
	}
	return err
}

// value reads the argument, or stdin where it is "-", and chooses the codec
// that fits it.
func (a *app) value(ctx context.Context, arg string, raw bool, r *cache.CacheRepository) (any, *cache.CacheRepository, error) {
	data := []byte(arg)
	if arg == "-" {
		var err error
		if data, err = interruptible(ctx, func() ([]byte, error) { return io.ReadAll(a.stdin) }); err != nil {
			return nil, nil, fmt.Errorf("read the value from stdin: %w", err)
		}
	}
	if raw {
		return data, r.WithCodec(cache.Raw), nil
	}
	if !utf8.Valid(data) {
		return nil, nil, usagef("the value is not valid UTF-8, and so no JSON; --raw stores bytes")
	}
	if !json.Valid(data) {
		if arg == "-" {
			return nil, nil, usagef("what stdin gave is not JSON; --raw stores bytes")
		}
		quoted, _ := json.Marshal(arg)
		return nil, nil, usagef("the value %s is not JSON; write '%s' for text, or give --raw", arg, quoted)
	}
	value, err := a.jsonValue(data)
	return value, r, err
}

// jsonValue is JSON as the store's codec takes it. Integers go as what they
// are, so that they can be counted with, under compression and encryption too.
func (a *app) jsonValue(data []byte) (any, error) {
	if n, ok := integerOf(data); ok {
		return n, nil
	}
	switch a.about.codec {
	case cache.JSON.Name():
		return json.RawMessage(data), nil
	case cache.Raw.Name():
		return nil, usagef("the store's codec is raw: give --raw, which stores what you write")
	}
	var value any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	return withNumbers(value)
}

// withNumbers puts Go numbers in the place of JSON's. One that no Go number holds
// is refused: it would come back as another.
func withNumbers(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			if v[key], err = withNumbers(v[key]); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range v {
			if v[i], err = withNumbers(v[i]); err != nil {
				return nil, err
			}
		}
	case json.Number:
		return numberOf(string(v))
	}
	return value, nil
}

func numberOf(text string) (any, error) {
	if n, ok := integerOf([]byte(text)); ok {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !strings.ContainsAny(text, ".eE") && text != "-0" {
		return nil, usagef("the value has a number that its codec can't hold; write it as text, in quotes")
	}
	return f, nil
}

// integerOf reads an integer in its only spelling: an int64, or a uint64 beyond
// that.
func integerOf(data []byte) (n any, ok bool) {
	text := string(bytes.TrimSpace(data))
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, strconv.FormatInt(n, 10) == text
	}
	u, err := strconv.ParseUint(text, 10, 64)
	return u, err == nil && strconv.FormatUint(u, 10) == text
}

// textOf is a value as JSON; false: it has none.
func (a *app) textOf(v cache.Value) ([]byte, bool) {
	switch a.about.codec {
	case cache.JSON.Name(), cache.Raw.Name():
		return v.Bytes(), json.Valid(v.Bytes())
	}
	var value any
	if err := v.Decode(&value); err != nil {
		return nil, false
	}
	var text bytes.Buffer
	if err := writeJSON(&text, value); err != nil {
		return nil, false
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), true
}

// interruptible reads until ctx is done. A read of a terminal or a pipe can't be
// broken off, so it is left behind then, and ends with the program.
func interruptible[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// show prints a value that was read; a miss is the answer no.
func (a *app) show(key string, v cache.Value, raw bool) error {
	if err := a.outage.over(nil); err != nil { // nobody knows what is there
		return err
	}
	switch {
	case a.json:
		return a.showJSON(key, v)
	case !v.Found():
		return errNo
	case raw:
		_, err := a.stdout.Write(v.Bytes())
		return err
	}
	text, ok := a.textOf(v)
	if !ok {
		return usagef("the value of %q is not JSON; --raw prints bytes", key)
	}
	_, err := fmt.Fprintf(a.stdout, "%s\n", text)
	return err
}

// A reading is a value as --json and get-many show it: JSON as it is, other
// bytes in base64.
type reading struct {
	Key    string          `json:"key"`
	Found  bool            `json:"found"`
	Value  json.RawMessage `json:"value,omitempty"`
	Base64 []byte          `json:"base64,omitempty"`
}

func (a *app) readingOf(key string, v cache.Value) reading {
	r := reading{Key: key, Found: v.Found()}
	if !v.Found() {
		return r
	}
	if text, ok := a.textOf(v); ok {
		r.Value = text
	} else {
		r.Base64 = v.Bytes()
	}
	return r
}

func (a *app) showJSON(key string, v cache.Value) error {
	if err := a.printJSON(a.readingOf(key, v)); err != nil {
		return err
	}
	return answer(v.Found())
}

func (a *app) printJSON(v any) error { return writeJSON(a.stdout, v) }

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// say prints a yes or no and makes it the exit code.
func (a *app) say(name string, yes bool) error {
	if err := a.outage.over(nil); err != nil { // nobody knows which it is
		return err
	}
	if err := a.print(name, yes); err != nil {
		return err
	}
	return answer(yes)
}

// done is for what needs no answer but in JSON.
func (a *app) done(name string) error {
	if !a.json {
		return nil
	}
	return a.printJSON(map[string]any{name: true})
}

// print prints one datum: bare, or in JSON under its name.
func (a *app) print(name string, datum any) error {
	if a.json {
		return a.printJSON(map[string]any{name: datum})
	}
	_, err := fmt.Fprintln(a.stdout, datum)
	return err
}

func answer(yes bool) error {
	if yes {
		return nil
	}
	return errNo
}

// remind tells somebody at a terminal that what was written to a store is gone:
// it lived in the driver's process, which ends with this program.
func (a *app) remind(ctx context.Context, r *cache.CacheRepository) {
	if !isTerminal(a.stderr) {
		return
	}
	if announced, err := r.Capabilities(ctx); err == nil && announced.LockScope == "process" {
		fmt.Fprintf(a.stderr, "note: store %s lives in its driver's process, which ends with this command\n", r.Name())
	}
}
