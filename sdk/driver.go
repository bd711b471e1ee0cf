package sdk

import (
	"context"
	"errors"
	"fmt"
	"reflect"
)

// A Driver is a program's worth of stores: a name, a version, the schema of its
// options, and how a store is opened. Define makes one.
type Driver struct {
	Name    string
	Version string
	Schema  Schema

	open func(ctx context.Context, options map[string]any) (Store, error)
	err  error // what is wrong with the definition itself
}

// Define makes a driver from its author's own options struct C and an open
// function. Name is what hosts call the driver, [a-z][a-z0-9_]*; version is the
// author's. The tags of C give the schema, see the package comment.
//
// open is called once per store, possibly at the same time for several. Its
// context is for opening only, and ends when open has returned. It does no I/O
// that may fail: a backend that is down must not keep the store from opening,
// since the first call connects. A mistake in the tags is reported by Serve and
// Open, not by a panic.
func Define[C any, S Store](name, version string, open func(context.Context, C) (S, error)) Driver {
	d := Driver{Name: name, Version: version}
	if !nameForm.MatchString(name) {
		d.err = fmt.Errorf("driver %q: a driver is called [a-z][a-z0-9_]*", name)
		return d
	}
	t := reflect.TypeFor[C]()
	if t.Kind() != reflect.Struct {
		d.err = fmt.Errorf("driver %s: options must be a struct, not %s", name, t)
		return d
	}
	fields, err := fieldsOf(t, "", nil)
	if err != nil {
		d.err = fmt.Errorf("driver %s: %w", name, err)
		return d
	}
	for _, f := range fields {
		d.Schema = append(d.Schema, f.option)
	}
	d.open = func(ctx context.Context, options map[string]any) (Store, error) {
		var c C
		if problems := d.Schema.Check(options); len(problems) > 0 {
			return nil, &OptionsError{problems}
		}
		if err := decode(fields, d.Schema, options, reflect.ValueOf(&c).Elem()); err != nil {
			return nil, err
		}
		s, err := open(ctx, c)
		if err != nil {
			return nil, err // and not s, which may be a nil pointer that isn't a nil Store
		}
		if isNil(s) {
			return nil, fmt.Errorf("%w: open returned neither a store nor an error", ErrInternal)
		}
		return s, nil
	}
	return d
}

func isNil(s Store) bool {
	v := reflect.ValueOf(s)
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Chan, reflect.Slice:
		return v.IsNil()
	}
	return false
}

// Err is what is wrong with the definition, nil for a good one.
func (d Driver) Err() error {
	if d.err == nil && d.open == nil {
		return errors.New("a driver is made by sdk.Define")
	}
	return d.err
}

// Open opens a store inside this process, as a driver process does for its
// host. Options are what YAML gives.
func (d Driver) Open(ctx context.Context, options map[string]any) (in *Instance, err error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	defer recoverAs(&err, d.Name+": open")
	s, err := d.open(ctx, options)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil { // open may have ignored it
		return nil, errors.Join(err, s.Close())
	}
	return newInstance(s), nil
}
