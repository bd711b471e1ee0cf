package core

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
)

// A Codec turns values into bytes and back. Methods are called concurrently.
// Errors must not hold the value. RegisterCodec makes one known to
// configurations; compression and encryption are the store's, under any codec.
//
// A codec meets no Go integer that has no marshaller of its own: those are
// stored as the text that counters are. Decode gets such text where the
// destination is anything but an integer.
type Codec interface {
	// Name is what the configuration calls it.
	Name() string
	// Encode writes v. A codec that has no null refuses nil with ErrNull.
	Encode(v any) ([]byte, error)
	// IsNull reports whether data is how Encode writes nil.
	IsNull(data []byte) bool
	// Decode fills dst, a pointer. Bytes that it can't read at all are
	// ErrCorrupt; bytes that don't fit dst are ErrWrongType.
	Decode(data []byte, dst any) error
}

var (
	// JSON is the default. Numbers decoded into any are json.Number, so that no
	// digit is lost. A string that is not valid UTF-8 is refused, since JSON has
	// none; inside a larger value encoding/json replaces what is invalid.
	JSON Codec = jsonCodec{}
	// Raw passes []byte and string untouched, and knows no null.
	Raw Codec = rawCodec{}
)

// A misfit says why a codec can't write a value. It matches ErrWrongType, whose
// own text is about entries that are there.
type misfit string

func (m misfit) Error() string        { return "the value can't be stored: " + string(m) }
func (m misfit) Is(target error) bool { return target == ErrWrongType }

// encode writes v with the codec, integers as the text that counters use.
func encode(c Codec, v any) ([]byte, error) {
	if text, ok := integerText(v); ok {
		return text, nil
	}
	return c.Encode(v)
}

// integerText writes v if it is a Go integer without a marshaller of its own.
func integerText(v any) ([]byte, bool) {
	if n, ok := v.(int); ok {
		return strconv.AppendInt(nil, int64(n), 10), true
	}
	switch v.(type) {
	case nil, string, []byte, json.Marshaler, encoding.TextMarshaler:
		return nil, false
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(nil, r.Int(), 10), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return strconv.AppendUint(nil, r.Uint(), 10), true
	}
	return nil, false
}

// decodeInteger reads integer text into dst. handled is false where dst is no
// integer or has an unmarshaller of its own, and where the text is none.
func decodeInteger(data []byte, dst any) (handled bool, err error) {
	switch dst.(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler:
		return false, nil
	}
	target := reflect.ValueOf(dst).Elem()
	switch {
	case !isIntegerText(data):
		return false, nil
	case target.CanInt():
		n, err := strconv.ParseInt(string(data), 10, target.Type().Bits())
		if err == nil {
			target.SetInt(n)
		}
		return parsedInteger(err)
	case target.CanUint():
		n, err := strconv.ParseUint(string(data), 10, target.Type().Bits())
		if err == nil {
			target.SetUint(n)
		}
		return parsedInteger(err)
	}
	return false, nil
}

// isIntegerText tells 0|-?[1-9][0-9]* from what strconv reads beyond it and
// from everything that is left to the codec.
func isIntegerText(data []byte) bool {
	digits := bytes.TrimPrefix(data, []byte("-"))
	if len(digits) == 0 || digits[0] == '0' && len(data) > 1 {
		return false
	}
	return !slices.ContainsFunc(digits, func(c byte) bool { return c < '0' || c > '9' })
}

func parsedInteger(err error) (handled bool, _ error) {
	if err != nil { // of its text only the size, or for a uint the sign, can be wrong
		return true, fmt.Errorf("%w: the integer is out of range", ErrWrongType)
	}
	return true, nil
}

type jsonCodec struct{}

func (jsonCodec) Name() string { return "json" }

func (jsonCodec) Encode(v any) ([]byte, error) {
	if text, ok := v.(string); ok && !utf8.ValidString(text) {
		return nil, misfit("the string is not valid UTF-8, and JSON has no other; the raw codec takes it")
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, misfit(fmt.Sprintf("%T can't be written as JSON: it is or holds what JSON has no form for, such as a function, a channel or NaN", v))
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

func (jsonCodec) IsNull(data []byte) bool {
	return string(bytes.TrimSpace(data)) == "null"
}

func (jsonCodec) Decode(data []byte, dst any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(dst); err != nil {
		return jsonError(data, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("%w: more follows the JSON value", ErrCorrupt)
	}
	return nil
}

// jsonError leaves encoding/json's own words out: they may quote the value.
func jsonError(data []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || !json.Valid(data) {
		return fmt.Errorf("%w: not valid JSON", ErrCorrupt)
	}
	return fmt.Errorf("%w: it holds a JSON %s", ErrWrongType, jsonKind(data))
}

func jsonKind(data []byte) string {
	switch c := bytes.TrimSpace(data)[0]; c {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

type rawCodec struct{}

func (rawCodec) Name() string { return "raw" }

func (rawCodec) Encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return nil, fmt.Errorf("%w: the raw codec has none", ErrNull)
	case []byte:
		return v, nil
	case string:
		return []byte(v), nil
	}
	return nil, misfit(fmt.Sprintf("the raw codec takes []byte, string and integers, not %T", v))
}

func (rawCodec) IsNull([]byte) bool { return false }

func (rawCodec) Decode(data []byte, dst any) error {
	switch dst := dst.(type) {
	case *[]byte:
		*dst = bytes.Clone(data)
	case *string:
		*dst = string(data)
	case *any:
		*dst = bytes.Clone(data)
	default:
		return fmt.Errorf("%w: it holds raw bytes", ErrWrongType)
	}
	return nil
}
