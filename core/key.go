package core

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/cachewright/cachewright/internal/wire"
)

// physicalKey checks a key and puts the store's prefix before it. The prefix
// is the store's with its colon, or empty.
func physicalKey(prefix, key string) (string, error) {
	switch {
	case key == "":
		return "", fmt.Errorf("%w: it is empty", ErrInvalidKey)
	case len(prefix)+len(key) > wire.MaxKey:
		return "", fmt.Errorf("%w: it has %d bytes with its prefix, and %d is the most", ErrInvalidKey, len(prefix)+len(key), wire.MaxKey)
	case strings.IndexByte(key, 0) >= 0:
		return "", fmt.Errorf("%w: it holds a NUL", ErrInvalidKey)
	case !utf8.ValidString(key):
		return "", fmt.Errorf("%w: it is not valid UTF-8", ErrInvalidKey)
	}
	return prefix + key, nil
}
