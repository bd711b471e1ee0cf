package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const threeLayers = `
default: file
prefix: app
drivers:
  acme: {run: command, command: [./acme], env: {LANG: C}}
stores:
  file: {driver: file, path: cache}
  memory: {driver: memory, maxItems: 5}
  redis: {driver: redis, addr: "file:1", db: 1, tls: {verify: true}}
  memcached: {driver: memcached, servers: ["a:1", "b:2"]}
  database: {driver: database, dsn: d}
  my: {driver: memory}
  my__shop_: {driver: memory}
`

func TestEnvironment(t *testing.T) {
	t.Parallel()
	const list = "servers of memcached"
	get := map[string]func(c *Config) any{
		"default":          func(c *Config) any { return c.Default },
		"prefix":           func(c *Config) any { return c.Prefix },
		"prefix of file":   func(c *Config) any { return c.Stores["file"].Prefix },
		"addr of redis":    func(c *Config) any { return c.Stores["redis"].Options["addr"] },
		"redis":            func(c *Config) any { return c.Stores["redis"].Options },
		list:               func(c *Config) any { return c.Stores["memcached"].Options["servers"] },
		"database":         func(c *Config) any { return c.Stores["database"].Options },
		"memory":           func(c *Config) any { return c.Stores["memory"].Options },
		"my":               func(c *Config) any { return c.Stores["my"].Options },
		"my__shop_":        func(c *Config) any { return c.Stores["my__shop_"].Options },
		"strategy of file": func(c *Config) any { return c.Stores["file"].Lock.Strategy },
		"env of acme":      func(c *Config) any { return c.Drivers["acme"].Env },
		"start of memory":  func(c *Config) any { return c.Drivers["memory"].StartTimeout.String() },
		"command of acme":  func(c *Config) any { return c.Drivers["acme"].Command },
	}
	for _, test := range []struct {
		name    string
		environ []string
		what    string
		want    any
	}{
		{"the file alone", nil, "default", "file"},
		{"a well-known variable beats the file", []string{"CACHE_STORE=memory"}, "default", "memory"},
		{"an own variable beats a well-known one", []string{"CACHE_STORE=memory", "CACHEWRIGHT_DEFAULT=redis"}, "default", "redis"},
		{"the last of two of one name counts", []string{"CACHE_STORE=memory", "CACHE_STORE=redis"}, "default", "redis"},
		{"a global prefix reaches the stores", []string{"CACHE_PREFIX=x"}, "prefix of file", "x"},
		{"an empty well-known variable is none", []string{"CACHE_PREFIX="}, "prefix", "app"},
		{"an empty own variable is an empty text", []string{"CACHEWRIGHT_PREFIX="}, "prefix of file", ""},
		{"a store's prefix replaces the global one", []string{"CACHEWRIGHT_STORES__FILE__PREFIX=own"}, "prefix of file", "own"},
		{"levels below a store", []string{"CACHEWRIGHT_STORES__FILE__LOCK__STRATEGY=redlock"}, "strategy of file", "redlock"},
		{"names are matched without case", []string{"CACHEWRIGHT_STORES__Redis__aDDr=x:9"}, "addr of redis", "x:9"},
		{"and so are the levels above", []string{"CACHEWRIGHT_stores__File__Lock__Strategy=redlock"}, "strategy of file", "redlock"},
		{"and the keys at the top", []string{"CACHEWRIGHT_Default=redis"}, "default", "redis"},
		{"nothing is expanded", []string{"CACHEWRIGHT_STORES__REDIS__ADDR=$$${X}"}, "addr of redis", "$$${X}"},
		{"values may hold =", []string{"CACHEWRIGHT_STORES__REDIS__ADDR=a=b"}, "addr of redis", "a=b"},
		{"nested options", []string{"CACHEWRIGHT_STORES__REDIS__TLS__CERT=/c", "CACHEWRIGHT_STORES__REDIS__PASSWORD="}, "redis",
			map[string]any{"addr": "file:1", "db": 1, "password": "", "tls": map[string]any{"verify": true, "cert": "/c"}}},
		{"a key of the file keeps its case", []string{"CACHEWRIGHT_STORES__MEMORY__MAXITEMS=7"}, "memory", map[string]any{"maxItems": "7"}},
		{"the longest name of a store wins", []string{"CACHEWRIGHT_STORES__MY__SHOP___SHARDS=7"}, "my__shop_", map[string]any{"shards": "7"}},
		{"the shorter name takes the others", []string{"CACHEWRIGHT_STORES__MY__SHARDS=7"}, "my", map[string]any{"shards": "7"}},
		{"names of a driver's variables keep their case", []string{"CACHEWRIGHT_DRIVERS__ACME__ENV__LD_Path=/x"}, "env of acme",
			map[string]string{"LANG": "C", "LD_Path": "/x"}},
		{"a driver that only a store names", []string{"CACHEWRIGHT_DRIVERS__MEMORY__START_TIMEOUT=20s"}, "start of memory", "20s"},
		{"lists have commas", []string{"CACHEWRIGHT_DRIVERS__ACME__COMMAND=/bin/acme, -v"}, "command of acme", []string{"/bin/acme", "-v"}},
		{"reserved and foreign names are nobody's", []string{"CACHEWRIGHT_CONFIG=x", "CACHEWRIGHT_FENCING_TOKEN=1", "CACHEWRIGHT_DRIVER_COOKIE=x",
			"CACHEWRIGHT_BUILTIN=x", "CACHEWRIGHT_OTHER__X=1", "CACHEWRIGHT=1", "cachewright_default=x"}, "default", "file"},
		{"no equals sign", []string{"CACHEWRIGHT_DEFAULT"}, "default", "file"},

		{"host and port", []string{"REDIS_HOST=r", "REDIS_PORT=7"}, "addr of redis", "r:7"},
		{"a host keeps the port", []string{"REDIS_HOST=r"}, "addr of redis", "r:1"},
		{"a port keeps the host", []string{"REDIS_PORT=7"}, "addr of redis", "file:7"},
		{"IPv6", []string{"REDIS_HOST=::1"}, "addr of redis", "[::1]:1"},
		{"IPv6 in brackets", []string{"REDIS_HOST=[fe80::1%eth0]"}, "addr of redis", "[fe80::1%eth0]:1"},
		{"an orchestrator's tcp:// is no port", []string{"REDIS_PORT=tcp://10.0.0.1:6379"}, "addr of redis", "file:1"},
		{"an own variable beats host and port", []string{"REDIS_HOST=r:wrong,but=unused", "CACHEWRIGHT_STORES__REDIS__ADDR=x:9"}, "addr of redis", "x:9"},
		{"database, name and password", []string{"REDIS_DB=3", "REDIS_USERNAME=u", "REDIS_PASSWORD=p"}, "redis",
			map[string]any{"addr": "file:1", "db": "3", "username": "u", "password": "p", "tls": map[string]any{"verify": true}}},
		{"one host replaces several", []string{"MEMCACHED_HOST=m"}, list, []any{"m:1"}},
		{"a port goes to each", []string{"MEMCACHED_PORT=9"}, list, []any{"a:9", "b:9"}},
		{"tables", []string{"DB_CACHE_TABLE=t", "DB_CACHE_LOCK_TABLE=l"}, "database", map[string]any{"dsn": "d", "table": "t", "lock_table": "l"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, err := load(t, threeLayers, test.environ...)
			if err != nil {
				t.Fatalf("Load: %v", err)
			}
			equal(t, test.what, get[test.what](c), test.want)
		})
	}
}

func TestADriverThatOnlyAVariableNames(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, "default: a\nstores: {a: {driver: memory}}\n",
		"CACHEWRIGHT_STORES__A__DRIVER=redis", "CACHEWRIGHT_DRIVERS__REDIS__START_TIMEOUT=20s")
	equal(t, "driver", c.Stores["a"].Driver, "redis")
	equal(t, "start_timeout", c.Drivers["redis"].StartTimeout.String(), "20s")
}

func TestWellKnownVariablesOnlyTouchTheirOwnStore(t *testing.T) {
	t.Parallel()
	environ := []string{"REDIS_HOST=r", "REDIS_DB=3", "CACHE_FILE_PATH=/x", "MEMCACHED_HOST=m", "DB_CACHE_TABLE=t"}
	for _, test := range []struct {
		name, store, text string
		want              map[string]any
	}{
		{"no store of that name", "sessions", "stores: {sessions: {driver: redis}}", map[string]any{}},
		{"another driver", "redis", "stores: {redis: {driver: memory}}", map[string]any{}},
		{"a url says it all", "redis", "stores: {redis: {driver: redis, url: u}}", map[string]any{"url": "u"}},
		{"a default address", "redis", "stores: {redis: {driver: redis}}", map[string]any{"addr": "r:6379", "db": "3"}},
		{"an address of references", "redis", `stores: {redis: {driver: redis, addr: "${X:-y:5}"}}`, map[string]any{"addr": "r:5", "db": "3"}},
		{"a default list", "memcached", `stores: {memcached: {driver: memcached}}`, map[string]any{"servers": []any{"m:11211"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := mustLoad(t, "default: "+test.store+"\n"+test.text, environ...)
			equal(t, "options", c.Stores[test.store].Options, test.want)
		})
	}
}

// An application's environment may have REDIS_DB for another program.
func TestAWellKnownVariableIsNoUnknownKey(t *testing.T) {
	t.Parallel()
	text := "default: redis\ndrivers: {redis: {run: command, command: [./mine]}}\nstores: {redis: {driver: redis}}\n"
	c := mustLoad(t, text, "REDIS_DB=3", "REDIS_HOST=r")
	options, err := c.CheckStore("redis", standIns["redis"][:1])
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "options", options, map[string]any{"addr": "r:6379"})
}

func TestValuesRememberWhereTheyCameFrom(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, threeLayers, "CACHE_STORE=memory", "REDIS_PORT=7", "CACHEWRIGHT_STORES__MEMCACHED__SERVERS=x:1",
		"CACHEWRIGHT_STORES__REDIS__TLS__CERT=c", "CACHEWRIGHT_STORES__MY__MAXITEMS=3")
	at := func(line int) Position { return Position{File: c.Path, Line: line} }
	by := func(variable string) Position { return Position{Variable: variable} }
	for key, want := range map[string]Position{
		"":                            at(1),
		"default":                     by("CACHE_STORE"),
		"prefix":                      at(3),
		"drivers.acme.env.LANG":       at(5),
		"stores.redis":                at(9),
		"stores.redis.addr":           by("REDIS_PORT"),
		"stores.redis.tls.verify":     at(9),
		"stores.redis.tls.cert":       by("CACHEWRIGHT_STORES__REDIS__TLS__CERT"),
		"stores.redis.nobody":         at(9),
		"stores.memcached.servers":    by("CACHEWRIGHT_STORES__MEMCACHED__SERVERS"),
		"stores.my.maxItems":          by("CACHEWRIGHT_STORES__MY__MAXITEMS"),
		"nothing.of.it":               at(1),
		"stores.memcached.servers[1]": by("CACHEWRIGHT_STORES__MEMCACHED__SERVERS"),
	} {
		if got := c.Origin(key); got != want {
			t.Errorf("Origin(%q) = %v; want %v", key, got, want)
		}
	}
	options, err := c.CheckStore("my", standIns["memory"])
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "a variable's key in the schema's case", options, map[string]any{"maxItems": "3"})
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		path    string
		environ []string
		want    []string
	}{
		{"x.yaml", []string{"CACHEWRIGHT_CONFIG=y.yaml"}, []string{"x.yaml"}},
		{"x.yaml:y.yaml", []string{}, []string{"x.yaml:y.yaml"}},
		{"", []string{"CACHEWRIGHT_CONFIG=y.yaml"}, []string{"y.yaml"}},
		{"", []string{"CACHEWRIGHT_CONFIG=y.yaml:z.yaml"}, []string{"y.yaml", "z.yaml"}},
		{"", []string{"CACHEWRIGHT_CONFIG="}, []string{"config.yaml"}},
		{"", []string{}, []string{"config.yaml"}},
	} {
		if got := Find(test.path, test.environ); !slices.Equal(got, test.want) {
			t.Errorf("Find(%q, %q) = %q; want %q", test.path, test.environ, got, test.want)
		}
	}
}

// The process's own environment and folder: not parallel.
func TestTheProcessIsTheDefault(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	text := "default: a\nstores: {a: {driver: file, path: x}}\n"
	if err := os.WriteFile("config.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CACHEWRIGHT_CONFIG", "")
	t.Setenv("CACHEWRIGHT_PREFIX", "mine")
	t.Setenv("CACHEWRIGHT_STORES__A__SPOOL", "y")
	loaded, err := Load(t.Context(), "", Options{Schemas: linked()})
	if err != nil {
		t.Fatal(err)
	}
	made, err := FromMap(map[string]any{
		"default": "a", "stores": map[string]any{"a": map[string]any{"driver": "file", "path": "x", "spool": "y"}},
	}, Options{Schemas: linked()})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "prefix of the file's store", loaded.Stores["a"].Prefix, "mine")
	equal(t, "prefix of the program's store", made.Stores["a"].Prefix, "")
	if folder, err = os.Getwd(); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // paths were fixed before
	for _, c := range []*Config{loaded, made} {
		options, err := c.CheckStore("a", standIns["file"])
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "options", options, map[string]any{"path": filepath.Join(folder, "x"), "spool": filepath.Join(folder, "y")})
	}
}
