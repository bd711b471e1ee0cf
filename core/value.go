package core

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"
)

// A Value is what a read found: nothing, a null, or a value. The zero Value is
// a miss. It prints as what it is, never as what it holds.
type Value struct {
	data  []byte
	codec Codec
	key   string
	found bool
	stale bool
	due   int64 // when its TTL ends, in ms since 1970; 0: not known, or never
}

// ValueOf makes a found Value that holds v in JSON, as a read from a store
// would give it; test doubles of the contracts need one.
func ValueOf(v any) (Value, error) {
	data, err := encode(JSON, v)
	if err != nil {
		return Value{}, err
	}
	return Value{data: data, codec: JSON, found: true}, nil
}

// Found reports a hit, of a null too.
func (v Value) Found() bool { return v.found }

// Stale reports that Remember served the value past its TTL: see StaleFor.
func (v Value) Stale() bool { return v.stale }

// Due is when the value's TTL ends, by the clock of the host that stored it: in
// the past for a stale one. It is known where Remember stored the value with its
// freshness, under StaleFor, RefreshAhead or RefreshByChance; ok is false for all
// others, whose TTL the store alone knows, and for what never ends.
func (v Value) Due() (due time.Time, ok bool) { return fromUnixMilli(uint64(v.due)), v.due != 0 }

// IsNull reports whether the entry is there and null.
func (v Value) IsNull() bool { return v.found && v.codec.IsNull(v.data) }

// Bytes are the codec's bytes, nil for a miss. They must not be changed.
func (v Value) Bytes() []byte { return v.data }

// Decode fills dst, a pointer. A miss is ErrMiss. A null sets pointers, maps,
// slices and interfaces to nil and is ErrNull for other types. Bytes that the
// codec can't read are ErrCorrupt, a value of another type is ErrWrongType; both
// name the key and leave dst unspecified. Numbers decoded into any are
// json.Number.
func (v Value) Decode(dst any) error {
	if !v.found {
		return v.fail(ErrMiss)
	}
	target := reflect.ValueOf(dst)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return v.fail(fmt.Errorf("%w: Decode wants a pointer, not %T", ErrWrongType, dst))
	}
	if v.codec.IsNull(v.data) {
		return v.decodeNull(dst, target.Elem())
	}
	handled, err := decodeInteger(v.data, dst)
	if !handled {
		err = v.codec.Decode(v.data, dst)
	}
	if errors.Is(err, ErrWrongType) {
		err = fmt.Errorf("%w, which does not fit Go type %s", err, target.Type().Elem())
	}
	return v.fail(err)
}

func (v Value) decodeNull(dst any, target reflect.Value) error {
	if _, own := dst.(interface{ UnmarshalJSON([]byte) error }); own {
		return v.fail(v.codec.Decode(v.data, dst))
	}
	switch target.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		target.SetZero()
		return nil
	}
	return v.fail(fmt.Errorf("%w, and %s has no nil", ErrNull, target.Type()))
}

func (v Value) fail(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: "decode", Key: v.key, Err: err}
}

// String describes the value without showing it.
func (v Value) String() string {
	switch {
	case !v.found:
		return "Value(miss)"
	case v.IsNull():
		return "Value(null)"
	}
	return fmt.Sprintf("Value(%d bytes)", len(v.data))
}

// GoString is String.
func (v Value) GoString() string { return v.String() }

// LogValue is String.
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }

var errValueAsValue = errors.New("cache: a Value is what a read found; store or send what it decodes to")

// MarshalText fails, and with it every codec that is given a Value, or something
// that holds one: its fields are its own, so that nothing would be written.
func (Value) MarshalText() ([]byte, error) { return nil, errValueAsValue }
