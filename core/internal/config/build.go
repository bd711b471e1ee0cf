package config

import (
	"maps"
	"regexp"
	"slices"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

var (
	namePattern   = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	codecPattern  = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)
	prefixPattern = regexp.MustCompile(`^[A-Za-z0-9._-]*$`)
)

// build makes a Config of merged values, or an *Error of everything that is
// wrong with them and with what was read before.
func (l *loader) build(merged layer) (*Config, error) {
	l.origins = merged.origins
	c := &Config{Path: l.path, origins: merged.origins, folders: l.folders, fromFiles: l.fromFiles}
	root := section{&l.report, "", merged.values}
	root.only("default", "prefix", "drivers", "stores")
	c.Prefix, _ = root.prefix()
	c.Drivers = l.drivers(root)
	c.Stores = l.stores(root, c)
	c.Default = root.required("default")
	if _, ok := c.Stores[c.Default]; !ok && c.Default != "" && !l.reported("stores") && !l.reported(join("stores", c.Default)) {
		root.about("default", "names no store of this configuration%s", didYouMean(c.Default, slices.Sorted(maps.Keys(c.Stores))))
	}
	c.Order = l.inOrder(c.Stores)
	if err := l.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// prefix is false where there is none; a wrong one is reported.
func (s section) prefix() (string, bool) {
	prefix, ok := s.text("prefix")
	switch {
	case !prefixPattern.MatchString(prefix):
		s.about(join(s.path, "prefix"), `takes letters, digits, dot, dash and underscore, or "" for no prefix`)
	case len(prefix)+len(":k") > wire.MaxKey:
		s.about(join(s.path, "prefix"), "leaves no room for a key, which has %d bytes with its prefix", wire.MaxKey)
	}
	return prefix, ok
}

// inOrder lists the stores as the file has them; a program's are sorted.
func (l *loader) inOrder(stores map[string]Store) []string {
	order := slices.DeleteFunc(slices.Clone(l.order), func(name string) bool {
		_, ok := stores[name]
		return !ok
	})
	if len(order) != len(stores) {
		return slices.Sorted(maps.Keys(stores))
	}
	return order
}

// schema finds the options of a driver that is a linked built-in.
func (l *loader) schema(d Driver) (sdk.Schema, bool) {
	if d.Run != RunBuiltin || l.opts.Schemas == nil {
		return nil, false
	}
	return l.opts.Schemas(d.Name)
}
