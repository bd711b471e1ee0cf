// Package xchacha20poly1305 links encryption with XChaCha20-Poly1305 into a
// program, for stores whose configuration has an encrypt block. A blank import
// is enough:
//
//	import _ "github.com/cachewright/cachewright/codecs/xchacha20poly1305"
package xchacha20poly1305

import (
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/cachewright/cachewright/internal/seal"
)

func init() {
	seal.RegisterCipher(seal.Cipher{Name: "xchacha20-poly1305", ID: 1, New: chacha20poly1305.NewX})
}
