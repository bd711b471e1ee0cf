package core

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// WithForeignCodecs takes a configuration whose codecs this program doesn't have,
// for tools that work on the stores of other programs. A store of such a codec
// gives its values as bytes and takes none but integers; WithCodec(Raw) takes
// bytes.
func WithForeignCodecs() Option {
	return func(m *CacheManager) { m.foreign = true }
}

// foreignCodec stands for a codec that another program has.
type foreignCodec struct{ name string }

func (c foreignCodec) Name() string { return c.name }

func (c foreignCodec) Encode(any) ([]byte, error) {
	return nil, misfit(fmt.Sprintf("this program has no codec %s; the raw codec takes its bytes", c.name))
}

func (foreignCodec) IsNull([]byte) bool { return false }

func (c foreignCodec) Decode(data []byte, dst any) error {
	switch dst := dst.(type) {
	case *[]byte:
		*dst = bytes.Clone(data)
		return nil
	case *any:
		if isIntegerText(data) {
			*dst = json.Number(data)
			return nil
		}
	}
	return fmt.Errorf("%w: it holds bytes of the codec %s, which this program does not have", ErrWrongType, c.name)
}
