package statements

import (
	"testing"

	cache "github.com/cachewright/cachewright/core"
)

func TestS33MemoryCoordinatesNothingBeyondItsProcess(t *testing.T) {
	t.Parallel()
	c := cache.Config{Default: "memory", Stores: map[string]cache.StoreConfig{"memory": {Driver: "memory"}}}
	m := open(t, c)
	leave := hold(t, m.Lock("k"))
	h := startHost(t, "holder", c)
	h.expect("inside") // while this process holds it
	h.say("leave")
	_ = leave()
}
