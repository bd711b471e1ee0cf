package msgpack_test

import (
	"fmt"

	"github.com/cachewright/cachewright/codecs/msgpack"
)

// A store has this codec by codec: msgpack in its configuration, once the
// package is linked; WithCodec of a repository takes it without one. Bytes stay
// bytes, and fields go by their json tags.
func Example() {
	type photo struct {
		Title string `json:"title"`
		Data  []byte `json:"data"`
	}
	data, err := msgpack.Codec.Encode(photo{"sunset", []byte{0xff, 0xd8}})
	if err != nil {
		fmt.Println(err)
	}
	var read photo
	err = msgpack.Codec.Decode(data, &read)
	fmt.Println(msgpack.Codec.Name(), len(data), read.Title, len(read.Data), err)
	// Output: msgpack 23 sunset 2 <nil>
}
