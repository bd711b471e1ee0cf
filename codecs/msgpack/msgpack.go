// Package msgpack links the codec msgpack into a program, for stores whose
// configuration says codec: msgpack. A blank import is enough:
//
//	import _ "github.com/cachewright/cachewright/codecs/msgpack"
//
// Values are smaller than in JSON, bytes stay bytes and times keep their
// nanoseconds. Structs are maps; fields are named by the tag msgpack, else by
// the tag json. Numbers decoded into any are int64, uint64 or float64. A value
// must not hold itself, by a pointer, a map or a slice.
package msgpack

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/cachewright/cachewright/core"
)

// Codec is what a configuration calls msgpack.
var Codec core.Codec = codec{}

func init() { core.RegisterCodec(Codec) }

type codec struct{}

func (codec) Name() string { return "msgpack" }

func (codec) Encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := msgpack.GetEncoder()
	defer msgpack.PutEncoder(enc)
	enc.Reset(&buf)
	enc.SetCustomStructTag("json")
	enc.SetSortMapKeys(true)
	enc.UseCompactInts(true)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("%w: %T can't be written as MessagePack", core.ErrWrongType, v)
	}
	return unlikeText(buf.Bytes()), nil
}

// unlikeText writes the numbers whose one byte is a digit in two, so that none is
// taken for the text of an integer.
func unlikeText(data []byte) []byte {
	if len(data) == 1 && '0' <= data[0] && data[0] <= '9' {
		return []byte{codeUint8, data[0]}
	}
	return data
}

func (codec) IsNull(data []byte) bool { return len(data) == 1 && data[0] == codeNil }

func (codec) Decode(data []byte, dst any) error {
	if n, ok := integer(data); ok {
		return decodeInteger(n, dst)
	}
	if err := wellFormed(data); err != nil {
		return err
	}
	dec := msgpack.GetDecoder()
	defer msgpack.PutDecoder(dec)
	dec.Reset(bytes.NewReader(data))
	dec.SetCustomStructTag("json")
	dec.UseLooseInterfaceDecoding(true)
	if err := dec.Decode(dst); err != nil { // its words may quote the value
		return fmt.Errorf("%w: it holds a MessagePack %s", core.ErrWrongType, kind(data[0]))
	}
	return nil
}

func decodeInteger(n any, dst any) error {
	if dst, ok := dst.(*any); ok {
		*dst = n
		return nil
	}
	return fmt.Errorf("%w: it holds an integer", core.ErrWrongType)
}

// integer reads the text that integers are stored as: an int64, or a uint64
// beyond that.
func integer(data []byte) (n any, ok bool) {
	if len(data) == 0 || len(data) > len("-9223372036854775808") || data[0] > '9' {
		return nil, false
	}
	text := string(data)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, strconv.FormatInt(n, 10) == text
	}
	u, err := strconv.ParseUint(text, 10, 64)
	return u, err == nil && strconv.FormatUint(u, 10) == text
}
