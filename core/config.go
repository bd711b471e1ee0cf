package core

import "time"

// A Config is a configuration that a program makes for OpenConfig. It follows
// the rules of a file: see docs/configuration.md.
type Config struct {
	Default string                  // a name in Stores
	Prefix  string                  // of stores that have none of their own
	Drivers map[string]DriverConfig // a driver that isn't here is the built-in of that name
	Stores  map[string]StoreConfig
}

// A DriverConfig says how a driver runs.
type DriverConfig struct {
	Run          string            // "builtin" or "command"
	Command      []string          // the program and its arguments
	SHA256       map[string]string // digests of the program by platform: "linux/amd64"
	Env          map[string]string // added to the driver's environment
	StartTimeout time.Duration     // 0: 10 s
	Transport    string            // "auto" or "grpc"; "": auto
}

// A StoreConfig says what to open and how to use it.
type StoreConfig struct {
	Driver  string
	Prefix  *string       // nil: the global one; "": none
	Codec   string        // "": json
	Timeout time.Duration // of calls without a deadline; 0: 5 s
	Lock    LockConfig
	Options map[string]any // the driver's own

	DefaultTTL time.Duration // what core.DefaultTTL stands for; 0: nothing
	TTLJitter  float64       // the most that a TTL is shortened by, as a share of it, below 1
	OnError    string        // "fail" or "miss"; "": fail

	Compress CompressConfig // the zero one: none
	Encrypt  EncryptConfig  // the zero one: none
}

// A CompressConfig is a store's compress block.
type CompressConfig struct {
	Algorithm string // "": zstd
	Above     int64  // bytes that a value must have; 0: 1,024
	MaxSize   int64  // bytes that a value may have, decompressed; 0: 64 MiB
}

// An EncryptConfig is a store's encrypt block.
type EncryptConfig struct {
	Algorithm string            // "": xchacha20-poly1305
	Key       string            // the id of the key that encrypts; "": the only one
	Keys      map[string]string // by id: 32 bytes in base64 or hexadecimal
}

// A LockConfig is a store's lock block; nil durations are not given.
type LockConfig struct {
	Strategy string // "": the driver's default
	Timeout  *time.Duration
	Wait     *time.Duration
	Lease    *time.Duration
}

// source is the configuration as a file would say it.
func (c Config) source() map[string]any {
	drivers, stores := map[string]any{}, map[string]any{}
	for name, d := range c.Drivers {
		drivers[name] = d.source()
	}
	for name, s := range c.Stores {
		stores[name] = s.source()
	}
	source := present(map[string]any{"default": c.Default, "prefix": c.Prefix, "stores": stores})
	if len(drivers) > 0 {
		source["drivers"] = drivers
	}
	return source
}

func (d DriverConfig) source() map[string]any {
	source := present(map[string]any{"run": d.Run, "start_timeout": d.StartTimeout, "transport": d.Transport})
	if len(d.Command) > 0 {
		source["command"] = d.Command
	}
	if len(d.SHA256) > 0 {
		source["sha256"] = d.SHA256
	}
	if len(d.Env) > 0 {
		source["env"] = d.Env
	}
	return source
}

func (s StoreConfig) source() map[string]any {
	source := present(map[string]any{"driver": s.Driver, "codec": s.Codec, "timeout": s.Timeout, "default_ttl": s.DefaultTTL, "on_error": s.OnError})
	if s.Prefix != nil {
		source["prefix"] = *s.Prefix
	}
	if s.TTLJitter != 0 {
		source["ttl_jitter"] = s.TTLJitter
	}
	if s.Compress != (CompressConfig{}) {
		source["compress"] = s.Compress.source()
	}
	if s.Encrypt.Algorithm != "" || s.Encrypt.Key != "" || s.Encrypt.Keys != nil {
		source["encrypt"] = s.Encrypt.source()
	}
	if lock := s.Lock.source(); len(lock) > 0 {
		source["lock"] = lock
	}
	for name, value := range s.Options {
		source[name] = value
	}
	return source
}

func (c CompressConfig) source() map[string]any {
	source := present(map[string]any{"algorithm": c.Algorithm})
	if c.Above != 0 {
		source["above"] = c.Above
	}
	if c.MaxSize != 0 {
		source["max_size"] = c.MaxSize
	}
	return source
}

func (e EncryptConfig) source() map[string]any {
	source := present(map[string]any{"algorithm": e.Algorithm, "key": e.Key})
	if len(e.Keys) > 0 {
		source["keys"] = e.Keys
	}
	return source
}

func (l LockConfig) source() map[string]any {
	source := present(map[string]any{"strategy": l.Strategy})
	for name, d := range map[string]*time.Duration{"timeout": l.Timeout, "wait": l.Wait, "lease": l.Lease} {
		if d != nil {
			source[name] = *d
		}
	}
	return source
}

// present drops what was not given.
func present(source map[string]any) map[string]any {
	for name, value := range source {
		if value == "" || value == time.Duration(0) {
			delete(source, name)
		}
	}
	return source
}
