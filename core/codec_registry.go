package core

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
)

var (
	codecNames = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

	codecsMu sync.RWMutex // guards codecs
	codecs   = map[string]Codec{JSON.Name(): JSON, Raw.Name(): Raw}
)

// RegisterCodec makes a codec known under its name, so that a configuration may
// say codec: NAME. It belongs before the configuration is opened: into main, or
// into the init of the codec's package, which a blank import then links. It
// panics on a name that is taken, and on one that isn't lower-case letters,
// digits, dashes and underscores.
func RegisterCodec(c Codec) {
	name := c.Name()
	if !codecNames.MatchString(name) {
		panic(fmt.Sprintf("core: %q is no name for a codec", name))
	}
	codecsMu.Lock()
	defer codecsMu.Unlock()
	if _, taken := codecs[name]; taken {
		panic(fmt.Sprintf("core: a codec %s is registered already", name))
	}
	codecs[name] = c
}

// codecNamed finds a codec, nil for none.
func codecNamed(name string) Codec {
	codecsMu.RLock()
	defer codecsMu.RUnlock()
	return codecs[name]
}

// codecsKnown are the names that a configuration may say.
func codecsKnown() []string {
	codecsMu.RLock()
	defer codecsMu.RUnlock()
	return slices.Sorted(maps.Keys(codecs))
}
