// Package zstd links compression with Zstandard into a program, for stores whose
// configuration says compress: zstd. A blank import is enough:
//
//	import _ "github.com/cachewright/cachewright/codecs/zstd"
package zstd

import (
	"errors"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/cachewright/cachewright/internal/seal"
	"github.com/cachewright/cachewright/internal/wire"
)

func init() {
	seal.RegisterCompression(seal.Compression{Name: "zstd", ID: 1, Compress: compress, Decompressor: decompressor})
}

// encoder is made at the first use. A single segment needs no window beyond the
// value, which decompressor's limit is about.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithSingleSegment(true), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // options that don't change
	}
	return e
})

func compress(data []byte) []byte { return encoder().EncodeAll(data, nil) }

// smallestWindow is what a decoder asks for, however small the value.
const smallestWindow = zstd.MinWindowSize

var errNoFrame = errors.New("not one frame")

func decompressor(limit int64) func([]byte) ([]byte, error) {
	memory := max(uint64(limit), smallestWindow)
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(memory), zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(err) // options that don't change
	}
	return func(data []byte) ([]byte, error) {
		var frame zstd.Header
		if err := frame.Decode(data); err != nil || frame.Skippable {
			return nil, errNoFrame
		}
		plain, err := d.DecodeAll(data, nil)
		switch {
		case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
			return nil, wire.ErrTooLarge
		case err != nil:
			return nil, err
		case int64(len(plain)) > limit:
			return nil, wire.ErrTooLarge
		case frame.HasFCS && uint64(len(plain)) != frame.FrameContentSize:
			return nil, errNoFrame
		}
		return plain, nil
	}
}
