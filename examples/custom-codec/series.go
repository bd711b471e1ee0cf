package main

import (
	"encoding/binary"
	"fmt"
	"math"

	cache "github.com/cachewright/cachewright/core"
)

// A Series is a list of measurements.
type Series []float64

// seriesCodec writes a Series as an F and eight bytes a number, little-endian,
// as other programs of ours read it. The F keeps it apart from the text of an
// integer, which is how Cachewright stores counters under any codec.
type seriesCodec struct{}

const mark = 'F'

func (seriesCodec) Name() string { return "series" }

func (seriesCodec) Encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return nil, fmt.Errorf("%w: a series has none", cache.ErrNull)
	case Series:
		data := append(make([]byte, 0, 1+8*len(v)), mark)
		for _, number := range v {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(number))
		}
		return data, nil
	}
	return nil, fmt.Errorf("%w: the series codec takes Series, not %T", cache.ErrWrongType, v)
}

func (seriesCodec) IsNull([]byte) bool { return false }

func (seriesCodec) Decode(data []byte, dst any) error {
	series, ok := dst.(*Series)
	switch {
	case len(data) == 0 || data[0] != mark || len(data)%8 != 1:
		return fmt.Errorf("%w: not a series", cache.ErrCorrupt)
	case !ok:
		return fmt.Errorf("%w: it holds a series", cache.ErrWrongType)
	}
	*series = make(Series, 0, len(data)/8)
	for rest := data[1:]; len(rest) > 0; rest = rest[8:] {
		*series = append(*series, math.Float64frombits(binary.LittleEndian.Uint64(rest)))
	}
	return nil
}
