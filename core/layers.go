package core

import (
	"encoding"
	"encoding/json"
	"reflect"

	"github.com/cachewright/cachewright/core/internal/config"
	"github.com/cachewright/cachewright/internal/seal"
)

// A written value is on its way into a store: bytes that the store's layers may
// compress and encrypt, or an integer, which stays the text that backends count
// with.
type written struct {
	data    []byte
	integer bool
	settled bool // its TTL has had its jitter
}

// isInteger tells values that integerText writes.
func isInteger(v any) bool {
	switch v.(type) {
	case int:
		return true
	case nil, string, []byte, json.Marshaler, encoding.TextMarshaler:
		return false
	}
	switch k := reflect.TypeOf(v).Kind(); {
	case reflect.Int <= k && k <= reflect.Uintptr:
		return true
	}
	return false
}

// sealer makes the layers of a store, nil for none. The configuration has been
// checked.
func sealer(c config.Store) (*seal.Sealer, error) {
	if c.Compress == nil && c.Encrypt == nil {
		return nil, nil
	}
	var want seal.Config
	if c.Compress != nil {
		want.Compression, want.Above, want.MaxSize = c.Compress.Algorithm, c.Compress.Above, c.Compress.MaxSize
	}
	if c.Encrypt != nil {
		want.Cipher, want.Key = c.Encrypt.Algorithm, c.Encrypt.Key
		want.Keys = make(map[string][]byte, len(c.Encrypt.Keys))
		for id, key := range c.Encrypt.Keys {
			want.Keys[id] = key
		}
	}
	return seal.New(want)
}

// seal is what the store is given for a value under a physical key.
func (s *store) seal(physical string, w written) ([]byte, error) {
	if s.layers == nil || w.integer {
		return w.data, nil
	}
	return s.layers.Seal(physical, w.data)
}

// unseal is the way back. Integers are as they are, whoever wrote them.
func (s *store) unseal(physical string, data []byte, ok bool) ([]byte, error) {
	if s.layers == nil || !ok || isIntegerText(data) {
		return data, nil
	}
	return s.layers.Open(physical, data)
}
