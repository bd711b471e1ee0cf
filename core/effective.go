package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cachewright/cachewright/core/internal/config"
	"github.com/cachewright/cachewright/internal/builtin"
	"github.com/cachewright/cachewright/sdk"
)

// A Setting is one value of a configuration as it counts.
type Setting struct {
	Key    string `json:"key"`              // dotted: stores.redis.addr
	Value  string `json:"value"`            // as YAML would have it; "" where Hidden
	Hidden bool   `json:"hidden,omitempty"` // a secret, or what may be one
	Secret bool   `json:"-"`                // Hidden because it is one: the schema says so, or it came by ${file:PATH}
	From   string `json:"from"`             // FILE:LINE, $VARIABLE or "default"; "program" for all of OpenConfig's
}

// Settings lists what the configuration comes to, file, environment and
// defaults together, in the order of the configuration, with where each value
// comes from. Secrets are hidden, and so are all options of a driver whose
// schema isn't linked into this program: only that driver knows its secrets.
// ctx bounds the asking of drivers that are programs; ask false starts none.
func (m *CacheManager) Settings(ctx context.Context, ask bool) ([]Setting, error) {
	s := settings{config: m.config}
	s.text("default", m.config.Default)
	s.text("prefix", m.config.Prefix)
	for _, name := range slices.Sorted(maps.Keys(m.config.Drivers)) {
		s.driver(m.config.Drivers[name])
	}
	var failed []error
	for _, name := range m.config.Order {
		store := m.config.Stores[name]
		schema, known, err := m.schemaOf(ctx, store.Driver, ask)
		failed = append(failed, err)
		s.store(store)
		if err := s.options(store, schema, known); err != nil {
			failed = append(failed, err)
		}
	}
	return s.list, errors.Join(failed...)
}

// CheckOptions starts the drivers and opens the stores, which asks no backend,
// and so finds what only they can tell: options of drivers that are programs of
// their own, options that exclude each other, locks that a store can't carry.
// What the file itself can tell, Open has told. It returns everything that is
// wrong, joined.
func (m *CacheManager) CheckOptions(ctx context.Context) error {
	failed := make([]error, len(m.config.Order))
	drivers := make(map[string]func() (sdk.Schema, error))
	var wg sync.WaitGroup
	for i, name := range m.config.Order {
		c := m.config.Stores[name]
		if drivers[c.Driver] == nil {
			drivers[c.Driver] = sync.OnceValues(func() (sdk.Schema, error) { return m.startedSchema(ctx, c.Driver) })
		}
		schema := drivers[c.Driver]
		wg.Go(func() { failed[i] = m.checkStore(ctx, c, schema) })
	}
	wg.Wait()
	return errors.Join(distinct(failed)...)
}

// distinct keeps one of an error that several stores have from their driver.
func distinct(errs []error) []error {
	var kept []error
	for _, err := range errs {
		if err != nil && !slices.Contains(kept, err) {
			kept = append(kept, err)
		}
	}
	return kept
}

// startedSchema is nil for a driver that is not linked, which then fails to open.
// A program that doesn't start is named where it stands.
func (m *CacheManager) startedSchema(ctx context.Context, driver string) (sdk.Schema, error) {
	schema, _, err := m.schemaOf(ctx, driver, true)
	if failed, ok := errors.AsType[*Error](err); ok {
		key := "drivers." + driver + ".command"
		return nil, fmt.Errorf("%v: %s: %w", m.config.Origin(key), key, failed.Err)
	}
	return schema, err
}

// checkStore is nil for a store that opens.
func (m *CacheManager) checkStore(ctx context.Context, c config.Store, schema func() (sdk.Schema, error)) error {
	options, err := schema()
	if err != nil {
		return err
	}
	if options != nil {
		if _, err := m.config.CheckStore(c.Name, options); err != nil {
			return err
		}
	}
	_, err = m.repositories[c.Name].LockInfo(ctx)
	if refused, ok := errors.AsType[*optionsError](err); ok {
		return &config.Error{Problems: refused.problems}
	}
	if misplaced, ok := errors.AsType[*lockBlockError](err); ok {
		return misplaced
	}
	if errors.Is(err, errors.ErrUnsupported) { // it has no locks, and need not
		return nil
	}
	return err
}

// schemaOf finds the options of a driver: linked into this program, or asked
// from the driver itself.
func (m *CacheManager) schemaOf(ctx context.Context, name string, ask bool) (schema sdk.Schema, known bool, err error) {
	if m.config.Drivers[name].Run != config.RunCommand {
		if d, ok := m.inProcess[name]; ok {
			return d.Schema, true, nil
		}
		d, known := builtin.Lookup(name)
		return d.Schema, known, nil
	}
	if !ask {
		return nil, false, nil
	}
	d, err := m.driver(name)
	if err != nil {
		return nil, false, err
	}
	described, err := d.Describe(ctx)
	if err != nil {
		return nil, false, &Error{Op: "describe", Driver: name, Err: err}
	}
	return described.Schema, true, nil
}

// settings collects a configuration's values.
type settings struct {
	config *config.Config
	list   []Setting
}

func (s *settings) text(key, value string) { s.add(Setting{Key: key, Value: value}) }

// add fills in where the value comes from. One that came out of a file that the
// configuration refers to is a secret by purpose.
func (s *settings) add(one Setting) {
	one.From = "default"
	if s.config.Path == "" {
		one.From = "program"
	}
	if p, ok := s.config.Written(one.Key); ok {
		one.From = p.String()
	}
	one.Secret = one.Secret || s.config.FromFile(one.Key)
	if one.Hidden = one.Hidden || one.Secret; one.Hidden {
		one.Value = ""
	}
	s.list = append(s.list, one)
}

func (s *settings) driver(d config.Driver) {
	path := "drivers." + d.Name + "."
	s.text(path+"run", string(d.Run))
	if len(d.Command) > 0 {
		s.command(path+"command", d)
	}
	if d.SHA256 != "" {
		s.text(path+"sha256", d.SHA256)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		s.add(Setting{Key: path + "env." + name, Hidden: true})
	}
	if d.StartTimeout > 0 {
		s.text(path+"start_timeout", d.StartTimeout.String())
	}
	if d.Transport != config.TransportAuto {
		s.text(path+"transport", string(d.Transport))
	}
}

// command hides what a variable holds as a whole; of one that an argument refers
// to, the reference is shown.
func (s *settings) command(key string, d config.Driver) {
	from, _ := s.config.Written(key)
	s.add(Setting{Key: key, Value: strings.Join(d.Spelled, " "), Hidden: from.Variable != ""})
}

func (s *settings) store(store config.Store) {
	path := "stores." + store.Name + "."
	s.text(path+"driver", store.Driver)
	s.prefix(path+"prefix", store.Prefix)
	s.text(path+"codec", store.Codec)
	s.layers(path, store)
	s.text(path+"timeout", store.Timeout.String())
	s.policy(path, store)
	s.lock(path+"lock.", store.Lock)
}

func (s *settings) layers(path string, store config.Store) {
	if c := store.Compress; c != nil {
		s.text(path+"compress.algorithm", c.Algorithm)
		s.text(path+"compress.above", sdk.Bytes(c.Above).String())
		s.text(path+"compress.max_size", sdk.Bytes(c.MaxSize).String())
	}
	if e := store.Encrypt; e != nil {
		s.text(path+"encrypt.algorithm", e.Algorithm)
		s.text(path+"encrypt.key", e.Key)
		for _, id := range slices.Sorted(maps.Keys(e.Keys)) {
			s.add(Setting{Key: path + "encrypt.keys." + id, Secret: true})
		}
	}
}

func (s *settings) policy(path string, store config.Store) {
	if store.DefaultTTL > 0 {
		s.text(path+"default_ttl", store.DefaultTTL.String())
	}
	if store.TTLJitter > 0 {
		s.text(path+"ttl_jitter", strconv.FormatFloat(store.TTLJitter, 'g', -1, 64))
	}
	onError := "fail"
	if store.MissOnError {
		onError = "miss"
	}
	s.text(path+"on_error", onError)
}

// prefix is a store's own or the global one, which then says where it is from.
func (s *settings) prefix(key, value string) {
	s.text(key, value)
	if _, own := s.config.Written(key); own {
		return
	}
	if p, ok := s.config.Written("prefix"); ok {
		s.list[len(s.list)-1].From = p.String()
	}
}

func (s *settings) lock(path string, l config.Lock) {
	s.text(path+"strategy", cmp.Or(l.Strategy, "the driver's"))
	if l.Timeout != nil {
		s.text(path+"timeout", l.Timeout.String())
	}
	if l.Wait != nil {
		s.text(path+"wait", l.Wait.String())
	}
	if l.Lease != nil {
		s.text(path+"lease", l.Lease.String())
	}
}

// options lists those that were given and those that have a default.
func (s *settings) options(store config.Store, schema sdk.Schema, known bool) error {
	path := "stores." + store.Name + "."
	if !known {
		for _, name := range slices.Sorted(maps.Keys(store.Options)) {
			s.add(Setting{Key: path + name, Hidden: true})
		}
		return nil
	}
	resolved, err := s.config.CheckStore(store.Name, schema)
	if err != nil {
		return err
	}
	for _, o := range schema {
		value, given := optionAt(resolved, o.Name)
		if !given && o.Default == "" {
			continue
		}
		text := o.Default
		if given {
			text = optionText(value)
		}
		s.add(Setting{Key: path + o.Name, Value: text, Secret: o.Secret})
	}
	return nil
}

// optionAt finds an option by its dotted name.
func optionAt(options map[string]any, name string) (any, bool) {
	head, rest, nested := strings.Cut(name, ".")
	v, ok := options[head]
	if !nested || !ok {
		return v, ok
	}
	below, _ := v.(map[string]any)
	return optionAt(below, rest)
}

func optionText(v any) string {
	switch v := v.(type) {
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = fmt.Sprint(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case []string:
		return "[" + strings.Join(v, ", ") + "]"
	case map[string]any:
		items := make([]string, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			items = append(items, fmt.Sprintf("%s: %v", key, v[key]))
		}
		return "{" + strings.Join(items, ", ") + "}"
	}
	return fmt.Sprint(v)
}
