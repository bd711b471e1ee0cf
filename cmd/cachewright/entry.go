package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	cache "github.com/cachewright/cachewright/core"
)

// An entry is one line of an export. The stored bytes stand as JSON where they
// are compact JSON, so that every byte comes back, and in base64 otherwise.
type entry struct {
	Key    string          `json:"key"`
	Value  json.RawMessage `json:"value,omitempty"`
	Base64 *[]byte         `json:"base64,omitempty"`
	TTL    *int64          `json:"ttl_ms,omitempty"` // milliseconds left; nil: for ever
}

func entryOf(key string, data []byte, ttl time.Duration) entry {
	e := entry{Key: key}
	if isCompactJSON(data) {
		e.Value = data
	} else {
		e.Base64 = &data
	}
	if ttl != cache.Forever {
		e.TTL = new(max(1, ttl.Milliseconds()))
	}
	return e
}

// isCompactJSON tells JSON that a JSON encoder passes on as it is.
func isCompactJSON(data []byte) bool {
	var compact bytes.Buffer
	return utf8.Valid(data) && json.Compact(&compact, data) == nil && bytes.Equal(compact.Bytes(), data)
}

// data are the bytes to store.
func (e entry) data() []byte {
	if e.Base64 != nil {
		return *e.Base64
	}
	return e.Value
}

// stored is what the store is given: an integer as one, so that it can be
// counted with, under compression and encryption too.
func (e entry) stored() any {
	if n, ok := integerOf(e.data()); ok && fmt.Sprint(n) == string(e.data()) {
		return n
	}
	return e.data()
}

func (e entry) ttl() time.Duration {
	if e.TTL == nil {
		return cache.Forever
	}
	return time.Duration(*e.TTL) * time.Millisecond
}

const entryForm = `{"key":…, "value":… or "base64":…, "ttl_ms":…}`

// maxTTL is what an int64 of nanoseconds holds.
const maxTTL = int64(1<<63-1) / int64(time.Millisecond)

// parseEntry reads one line. Its errors don't quote the line, which holds a
// value.
func parseEntry(line []byte) (entry, error) {
	var e entry
	switch {
	case !utf8.Valid(line):
		return e, errors.New("is not valid UTF-8")
	case bytes.HasPrefix(line, []byte("\ufeff")):
		return e, errors.New("starts with a byte order mark; save the file as UTF-8 without one")
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return e, entryError(line, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return e, errors.New("has more than one JSON value; an entry has a line of its own")
	}
	switch {
	case e.Key == "":
		return e, errors.New("has no key; a line is " + entryForm)
	case lostInKey(line, e.Key):
		return e, errors.New("has a key with half of a surrogate pair, which is no character")
	case strings.ContainsRune(e.Key, 0):
		return e, errors.New("has a key with a NUL, which no key can hold")
	case (e.Value == nil) == (e.Base64 == nil):
		return e, errors.New("wants either value or base64; a line is " + entryForm)
	case e.TTL != nil && (*e.TTL <= 0 || *e.TTL > maxTTL):
		return e, errors.New("has a ttl_ms that is no time to live; leave it out for an entry that stays for ever")
	}
	return e, nil
}

// lostInKey tells a key in which the decoder put U+FFFD in the place of what is no
// character: keys that differ would become one.
func lostInKey(line []byte, key string) bool {
	var spelled struct {
		Key json.RawMessage `json:"key"`
	}
	in := strings.Count(key, "\ufffd")
	if in == 0 || json.Unmarshal(line, &spelled) != nil {
		return false
	}
	text := strings.ToLower(string(spelled.Key))
	return in > strings.Count(text, "\ufffd")+strings.Count(text, `\ufffd`)
}

func entryError(line []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("is not valid JSON; a line is " + entryForm)
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Errorf("has a %s of the wrong type; a line is %s", kind.Field, entryForm)
	case json.Valid(line) && strings.Contains(err.Error(), "unknown field"):
		return errors.New("has a field that no entry has; a line is " + entryForm)
	}
	return errors.New("is no entry; a line is " + entryForm)
}
