package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

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

// A lifetime is the flag --ttl; unset it means for ever.
type lifetime struct{ time.Duration }

func (l *lifetime) flag(cmd *cobra.Command) {
	l.Duration = cache.Forever
	cmd.Flags().Var(l, "ttl", "how long the entry lives, such as 90s (for ever if left out)")
	cmd.Flags().Lookup("ttl").DefValue = "0" // which help leaves out
}

func (l *lifetime) Type() string { return "duration" }

func (l *lifetime) Set(text string) error {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return errors.New("give a duration with a unit, such as 90s")
	case d <= 0:
		return errors.New("an entry needs a time to live above zero, such as 90s; without --ttl it stays for ever")
	}
	l.Duration = d
	return nil
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
	if !json.Valid(data) {
		if arg == "-" {
			return nil, nil, usagef("what stdin gave is not JSON; --raw stores bytes")
		}
		quoted, _ := json.Marshal(arg)
		return nil, nil, usagef("the value %s is not JSON; write '%s' for text, or give --raw", arg, quoted)
	}
	return json.RawMessage(data), r, nil
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
	switch {
	case a.json:
		return a.showJSON(key, v)
	case !v.Found():
		return errNo
	case raw:
		_, err := a.stdout.Write(v.Bytes())
		return err
	case !json.Valid(v.Bytes()):
		return usagef("the value of %q is not JSON; --raw prints bytes", key)
	}
	_, err := fmt.Fprintf(a.stdout, "%s\n", v.Bytes())
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

func readingOf(key string, v cache.Value) reading {
	r := reading{Key: key, Found: v.Found()}
	switch {
	case !v.Found():
	case json.Valid(v.Bytes()):
		r.Value = v.Bytes()
	default:
		r.Base64 = v.Bytes()
	}
	return r
}

func (a *app) showJSON(key string, v cache.Value) error {
	if err := a.printJSON(readingOf(key, v)); err != nil {
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
	if err := a.print(name, yes); err != nil {
		return err
	}
	return answer(yes)
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
