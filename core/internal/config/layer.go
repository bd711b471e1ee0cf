package config

import (
	"maps"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
)

// A layer is one source of values, or several merged.
type layer struct {
	values  map[string]any
	origins origins
}

// merge lays each layer over those before it. Mappings merge key by key;
// anything else replaces what was there.
func merge(layers ...layer) (layer, error) {
	k := koanf.New(".")
	merged := origins{}
	for _, l := range layers {
		if err := k.Load(confmap.Provider(l.values, ""), nil); err != nil {
			return layer{}, err
		}
		merged.replace(l)
	}
	return layer{k.Raw(), merged}, nil
}

// replace takes over the origins of a layer above. What stood below a value
// that it replaced went with that value; a mapping over a mapping replaces none.
func (o origins) replace(above layer) {
	maps.DeleteFunc(o, func(key string, _ Position) bool {
		for i, c := range key {
			if i > 0 && (c == '[' || c == '.') && above.replaces(key[:i], c) {
				return true
			}
		}
		return false
	})
	maps.Copy(o, above.origins)
}

// replaces tells whether the layer puts something in the place of what has
// further levels at key, keys behind a dot or items behind a bracket.
func (l layer) replaces(key string, further rune) bool {
	if _, given := l.origins[key]; !given {
		return false
	}
	return further == '[' || l.mapping(strings.Split(key, ".")...) == nil
}

// set puts a value at a path, making the mappings on the way.
func (l layer) set(path []string, value any, from Position) {
	at := l.values
	for _, key := range path[:len(path)-1] {
		below, ok := at[key].(map[string]any)
		if !ok {
			below = make(map[string]any)
			at[key] = below
		}
		at = below
	}
	at[path[len(path)-1]] = value
	l.origins[strings.Join(path, ".")] = from
}

// get finds the value at a path.
func (l layer) get(path ...string) (any, bool) {
	at := l.values
	for _, key := range path[:len(path)-1] {
		below, ok := at[key].(map[string]any)
		if !ok {
			return nil, false
		}
		at = below
	}
	v, ok := at[path[len(path)-1]]
	return v, ok
}

// mapping is get for a mapping; without one it is nil.
func (l layer) mapping(path ...string) map[string]any {
	v, _ := l.get(path...)
	m, _ := v.(map[string]any)
	return m
}
