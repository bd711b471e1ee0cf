package config

import (
	"maps"
	"slices"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
)

// maxLease is the longest that a lock may be asked for.
const maxLease = 24 * time.Hour

func (l *loader) stores(root section, c *Config) map[string]Store {
	stores := make(map[string]Store)
	declared := section{}
	if root.values["stores"] != nil {
		declared, _ = root.section("stores")
	}
	if len(declared.values) == 0 {
		root.about("stores", "declares no store")
		return stores
	}
	for _, name := range declared.names() {
		if !namePattern.MatchString(name) {
			declared.about(join(declared.path, name), "is no name for a store: a lower-case letter, then letters, digits and underscores")
			continue
		}
		if s, ok := declared.section(name); ok {
			stores[name] = l.store(s, name, c)
		} else { // known by name, so that default may name it
			stores[name] = Store{Name: name}
		}
	}
	return stores
}

func (l *loader) store(s section, name string, c *Config) Store {
	store := Store{
		Name:    name,
		Driver:  s.required("driver"),
		Prefix:  c.Prefix,
		Codec:   l.codec(s),
		Timeout: DefaultTimeout,
		Options: maps.Clone(s.values),
		Pos:     l.origins.of(s.path),

		Compress: l.compress(s),
		Encrypt:  l.encrypt(s),
	}
	s.policy(&store)
	if prefix, ok := s.prefix(); ok {
		store.Prefix = prefix
	}
	if timeout := s.duration("timeout", false); timeout != nil {
		store.Timeout = *timeout
	}
	if _, given := s.values["lock"]; given {
		store.Lock = l.lock(s)
	}
	for _, key := range wire.StoreKeys() {
		delete(store.Options, key)
	}
	l.checkNulls(s.path, store.Options)
	if store.Driver != "" {
		l.checkDriver(s, store, c)
	}
	return store
}

func (l *loader) codec(s section) string {
	name, _ := s.values["codec"].(string)
	if _, ours := packages[name]; l.opts.ForeignCodecs && !ours && codecPattern.MatchString(name) {
		return name
	}
	return s.linked("codec", DefaultCodec, l.opts.Codecs)
}

// checkDriver checks that the driver can exist, and the options if its schema is
// there already.
func (l *loader) checkDriver(s section, store Store, c *Config) {
	d, declared := c.Drivers[store.Driver]
	if !declared {
		d = Driver{Name: store.Driver, Run: RunBuiltin}
	}
	if !declared && !l.isBuiltin(store.Driver) {
		if l.reported("drivers") || l.reported(join("drivers", store.Driver)) { // and so not known here
			return
		}
		known := append(slices.Sorted(maps.Keys(c.Drivers)), builtins...)
		slices.Sort(known)
		s.about(join(s.path, "driver"), "is neither a driver of this configuration nor a built-in%s",
			didYouMean(store.Driver, slices.Compact(known)))
		return
	}
	if schema, ok := l.schema(d); ok {
		c.checkOptions(store, schema, &l.report)
	}
}

// checkNulls reports keys without values among options, at every depth.
func (l *loader) checkNulls(path string, options map[string]any) {
	s := section{&l.report, path, options}
	for _, key := range s.names() {
		v, ok := s.present(key)
		if !ok {
			delete(options, key)
		}
		if below, ok := v.(map[string]any); ok {
			l.checkNulls(join(path, key), below)
		}
	}
}

// lock reads a lock block. Which times go together depends on the strategy.
func (l *loader) lock(store section) Lock {
	s, ok := store.section("lock")
	if !ok {
		return Lock{}
	}
	s.only("strategy", "lease", "wait", "timeout")
	lock := Lock{
		Strategy: s.choice("strategy", "", l.opts.Strategies),
		Lease:    s.duration("lease", false),
		Wait:     s.duration("wait", true),
		Timeout:  s.duration("timeout", true),
	}
	if lock.Lease != nil && *lock.Lease > maxLease {
		s.about(join(s.path, "lease"), "must not be above 24h")
	}
	if lock.Strategy == "exclusive" {
		if lock.Wait != nil && lock.Timeout != nil {
			s.about(join(s.path, "timeout"), "is the same as wait under strategy: exclusive; keep one")
		}
		return lock
	}
	if !s.reported(join(s.path, "strategy")) {
		s.refuse("goes with strategy: exclusive only; the other strategies take timeout", "lease", "wait")
	}
	return lock
}
