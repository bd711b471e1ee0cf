// Package all links every codec and layer of Cachewright into a program:
// msgpack, compression and encryption. A blank import is enough:
//
//	import _ "github.com/cachewright/cachewright/codecs/all"
package all

import (
	_ "github.com/cachewright/cachewright/codecs/msgpack"
	_ "github.com/cachewright/cachewright/codecs/xchacha20poly1305"
	_ "github.com/cachewright/cachewright/codecs/zstd"
)
