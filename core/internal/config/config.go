// Package config reads what a user wrote, YAML files and the environment, into
// values that are valid and remember where they came from. It reports
// everything that is wrong at once, by file, line and key, and never quotes a
// value: any of them may be a secret.
package config

import (
	"context"
	"fmt"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

// A Config is a valid configuration. It is read-only and may be shared.
type Config struct {
	Path    string // of the first file, as it was named; "" for FromMap
	Default string // a name in Stores
	Prefix  string // the global one, already part of each store's
	Drivers map[string]Driver
	Stores  map[string]Store
	Order   []string // the names of Stores as they stand in the files

	origins origins
	folders folders

	fromFiles map[string]bool
}

// A Driver says how a driver runs.
type Driver struct {
	Name         string
	Run          Run
	Command      []string          // the program and its arguments; RunCommand only
	Spelled      []string          // Command as it may be shown: with references in the place of what they stand for
	SHA256       string            // lower-case hex digest of this platform's program; "" is unpinned
	Env          map[string]string // added to the driver's environment
	StartTimeout time.Duration     // 0: the host's default
	Transport    Transport
	Pos          Position
}

// Run is how a driver's process comes to be.
type Run string

const (
	RunBuiltin Run = "builtin" // this executable, started again
	RunCommand Run = "command" // a program of its own
)

// Transport is what the calls to a driver's process travel on.
type Transport string

const (
	TransportAuto Transport = ""     // "auto" in a file: the fast plane where the driver serves it
	TransportGRPC Transport = "grpc" // gRPC, always
)

// A Store says what to open and how to use it.
type Store struct {
	Name    string
	Driver  string // a name in Drivers, or else the built-in of that name
	Prefix  string // its own or the global one; "" is none
	Codec   string
	Timeout time.Duration // of a call without a deadline
	Lock    Lock
	Options map[string]any // as given; CheckStore makes them what a driver takes
	Pos     Position

	Compress *Compress // nil: none
	Encrypt  *Encrypt  // nil: none

	DefaultTTL  time.Duration // 0: none
	TTLJitter   float64       // the most that a TTL is shortened by, as a share of it
	MissOnError bool          // a read that the store can't answer is a miss
}

// A Lock is a store's lock block. What is nil or "" was not given. Lease and
// Wait come with strategy exclusive only, and Timeout never beside Wait.
type Lock struct {
	Strategy string
	Lease    *time.Duration
	Wait     *time.Duration
	Timeout  *time.Duration
}

// DefaultTimeout and DefaultCodec are those of a store that names none.
const (
	DefaultTimeout = 5 * time.Second
	DefaultCodec   = "json"
)

// Options are what the rest of the product tells this package.
type Options struct {
	// Over are further files, each laid over those before it.
	Over []string
	// Environ is the environment as NAME=value. nil: the process's own.
	// FromMap reads none.
	Environ []string
	// Schemas finds the options of a linked built-in driver. nil: none is
	// linked, and no option is checked before first use.
	Schemas func(driver string) (sdk.Schema, bool)
	// Codecs are the names that codec may take. nil: json and raw.
	Codecs []string
	// ForeignCodecs lets codec take any other name too.
	ForeignCodecs bool
	// Compressions and Ciphers are those that are linked.
	Compressions []string
	Ciphers      []string
	// Strategies are the names that lock.strategy may take. nil: all four.
	Strategies []string
	// Platform is what sha256 must have a digest for. "": this one, as
	// linux/amd64.
	Platform string
}

// Load reads the file at path, the files of opts.Over and the environment, the
// later of files, well-known variables and CACHEWRIGHT_ variables winning key by
// key: mappings merge, anything else replaces. An empty path is looked up as
// Find does. Every problem is in the one *Error that it returns, which matches
// ErrInvalidConfig.
func Load(ctx context.Context, path string, opts Options) (*Config, error) {
	l := newLoader(opts)
	paths, named := l.env.find(path)
	files, ok := l.readFiles(ctx, append(paths, opts.Over...), named)
	if !ok {
		return nil, l.err()
	}
	merged, err := l.overlayEnvironment(ctx, files)
	if err != nil {
		return nil, err
	}
	return l.build(merged)
}

// FromMap checks a configuration that a program made, by the same rules and
// the same keys as a file's. Besides what YAML gives, values may be
// time.Duration, sdk.Bytes, []string and map[string]string. Nothing is taken
// from the environment and nothing is expanded; relative paths start at the
// working directory. Its problems have no position.
func FromMap(values map[string]any, opts Options) (*Config, error) {
	opts.Environ = []string{}
	l := newLoader(opts)
	p := plainer{report: &l.report}
	return l.build(layer{values: p.mapping("", values, 0), origins: origins{}})
}

// Origin is where the value at a dotted key came from, as stores.redis.addr.
// For a value that nobody wrote it is where the nearest key around it stands;
// it is zero in a Config made by FromMap.
func (c *Config) Origin(key string) Position { return c.origins.of(key) }

// CheckStore checks a store's options by the schema of its driver, and returns
// them as the driver takes them: relative paths made absolute, numbers as
// text, so that JSON keeps every digit. Load has already done it for the linked
// built-ins; what only a started driver can tell is reported here, with the
// same positions.
func (c *Config) CheckStore(name string, schema sdk.Schema) (map[string]any, error) {
	s, ok := c.Stores[name]
	if !ok {
		return nil, fmt.Errorf("%w %q", wire.ErrUnknownStore, name)
	}
	r := report{origins: c.origins}
	resolved := c.checkOptions(s, schema, &r)
	if err := r.err(); err != nil {
		return nil, err
	}
	return resolved, nil
}
