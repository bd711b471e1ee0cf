package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cachewright/cachewright/sdk"

	"github.com/cachewright/cachewright/internal/wire"
)

// checkOptions reports what is wrong with a store's options, and returns them
// resolved where nothing is.
func (c *Config) checkOptions(s Store, schema sdk.Schema, r *report) map[string]any {
	path := "stores." + s.Name
	options := foldNames(s.Options, "", schema)
	c.dropForeign(path, options, schema)
	wrong := schema.Check(options)
	for _, p := range wrong {
		key := strings.ReplaceAll(p.Key, `"`, "") // around names with a dot
		r.about(join(path, key), "%s", reason(p, options, schema))
	}
	homeless := checkHomes(path, options, schema, r)
	if len(wrong) > 0 || homeless {
		return nil
	}
	for _, o := range schema {
		c.resolve(path, options, o)
	}
	return options
}

// checkHomes reports paths that begin with ~: they would make a folder of that
// name.
func checkHomes(path string, options map[string]any, schema sdk.Schema, r *report) (found bool) {
	for _, o := range schema {
		v, _ := lookup(options, o.Name)
		if text, ok := v.(string); ok && o.Kind == sdk.KindPath && inHome(text) {
			r.about(join(path, o.Name), "%s", tilde)
			found = true
		}
	}
	return found
}

// foldNames copies options; names that differ from an option's in case only get
// the option's, since variables can't spell it.
func foldNames(options map[string]any, prefix string, schema sdk.Schema) map[string]any {
	folded := make(map[string]any, len(options))
	for _, key := range slices.Sorted(maps.Keys(options)) {
		name := foldName(key, prefix, schema)
		if _, taken := options[name]; taken && name != key {
			name = key
		}
		v := options[key]
		if below, ok := v.(map[string]any); ok {
			if _, whole := schema.Lookup(prefix + name); whole {
				v = maps.Clone(below)
			} else {
				v = foldNames(below, prefix+name+".", schema)
			}
		}
		folded[name] = v
	}
	return folded
}

func foldName(key, prefix string, schema sdk.Schema) string {
	for _, o := range schema {
		rest, ok := strings.CutPrefix(o.Name, prefix)
		name, _, _ := strings.Cut(rest, ".")
		if ok && key == strings.ToLower(name) {
			return name
		}
	}
	return key
}

// dropForeign takes out what a well-known variable set and this driver has no
// option for: the variable was meant for another program.
func (c *Config) dropForeign(path string, options map[string]any, schema sdk.Schema) {
	for key := range options {
		variable := c.Origin(join(path, key)).Variable
		if _, known := schema.Lookup(key); !known && variable != "" && !strings.HasPrefix(variable, ours) {
			delete(options, key)
		}
	}
}

// reason words a problem of the schema without the value, which may be a
// secret, and with the nearest key for one that doesn't exist.
func reason(p sdk.Problem, options map[string]any, schema sdk.Schema) string {
	o, known := schema.Lookup(p.Key)
	if !known {
		return unknownOption(p, schema)
	}
	v, given := lookup(options, p.Key)
	switch {
	case !given || v == nil:
		return p.Reason
	case o.Kind == sdk.KindDuration && o.Secret:
		return "wants a duration with a unit, such as 60s"
	case o.Kind == sdk.KindDuration:
		_, reason := parseDuration(v)
		return cmp.Or(reason, p.Reason)
	case o.Kind == sdk.KindString || o.Kind == sdk.KindPath:
		return cmp.Or(notText(v), p.Reason)
	case o.Kind == sdk.KindMap:
		return "wants names with texts; put numbers in quotes"
	}
	return p.Reason
}

// notText is why a value can't be text, "" for one that is.
func notText(v any) string {
	if _, ok := v.(string); ok {
		return ""
	}
	return wantsText(v)
}

func unknownOption(p sdk.Problem, schema sdk.Schema) string {
	known := wire.StoreKeys()
	for _, o := range schema {
		if strings.HasPrefix(o.Name, p.Key+".") {
			return "wants keys with values below it"
		}
		known = append(known, o.Name)
	}
	switch {
	case strings.Contains(p.Key, ":"):
		return gluedColon
	case strings.Contains(p.Key, `"`):
		return "is a key with a dot; write the part behind it as a key of its own, one level below"
	}
	return "is not a key of this store's driver" + didYouMean(p.Key, known)
}

// resolve makes one option what a driver takes: a path absolute, a default path
// too, and a number text.
func (c *Config) resolve(path string, options map[string]any, o sdk.Option) {
	v, given := lookup(options, o.Name)
	if o.Kind == sdk.KindPath {
		from := c.Origin(join(path, o.Name))
		if !given {
			v, from = o.Default, Position{}
		}
		if text, ok := v.(string); ok && text != "" {
			store(options, o.Name, c.folders.absolute(text, from))
		}
		return
	}
	switch v := v.(type) {
	case int, int64, uint64, float64:
		store(options, o.Name, fmt.Sprint(v))
	}
}

// lookup finds an option by its dotted name.
func lookup(options map[string]any, name string) (any, bool) {
	head, rest, nested := strings.Cut(name, ".")
	v, ok := options[head]
	if !nested {
		return v, ok
	}
	below, _ := v.(map[string]any)
	return lookup(below, rest)
}

// store puts an option where lookup finds it.
func store(options map[string]any, name string, v any) {
	head, rest, nested := strings.Cut(name, ".")
	if !nested {
		options[head] = v
		return
	}
	below, ok := options[head].(map[string]any)
	if !ok {
		below = make(map[string]any)
		options[head] = below
	}
	store(below, rest, v)
}
