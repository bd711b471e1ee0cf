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
		merged.replace(l.origins)
	}
	return layer{k.Raw(), merged}, nil
}

// replace takes over the origins of a layer above. What stood below one of its
// keys went with the value that it replaced.
func (o origins) replace(above origins) {
	maps.DeleteFunc(o, func(key string, _ Position) bool {
		for i, c := range key {
			if _, gone := above[key[:i]]; i > 0 && gone && (c == '.' || c == '[') {
				return true
			}
		}
		return false
	})
	maps.Copy(o, above)
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
