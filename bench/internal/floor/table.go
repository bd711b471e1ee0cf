package floor

// Floors are the ratios that are kept, on a machine with two cores. A floor is
// no goal: what is measured should be well beyond it.
var Floors = []Floor{
	{
		Work: "memory Get 100 B, 1 caller", Contest: "memory/get/100B/1", Of: "fast", Against: "unary",
		Measure: Quicker, Bound: 3.5, Baseline: "unary gRPC through go-plugin, unix socket, no TLS",
	},
	{
		Work: "memory Get 100 B, 64 callers", Contest: "memory/get/100B/64", Of: "fast", Against: "unary",
		Measure: Throughput, Bound: 10, Baseline: "unary gRPC through go-plugin, unix socket, no TLS",
	},
	{
		Work: "memory Get 4 KiB, 64 callers", Contest: "memory/get/4KiB/64", Of: "fast", Against: "unary",
		Measure: Throughput, Bound: 6, Baseline: "unary gRPC through go-plugin, unix socket, no TLS",
	},
	{
		Work: "redis Get 100 B, 64 callers", Contest: "redis/unix/get/100B/64", Of: "fast", Against: "direct",
		Measure: Throughput, Bound: 1.7, Baseline: "go-redis without pipelining, both on a unix socket",
	},
	{
		Work: "redis Get 100 B, 1 caller", Contest: "redis/tcp/get/100B/1", Of: "fast", Against: "direct",
		Measure: Slower, Bound: 2.1, Baseline: "go-redis without pipelining, both on TCP",
	},
	{
		Work: "redis Get 100 B, 8 callers", Contest: "redis/tcp/get/100B/8", Of: "fast", Against: "direct",
		Measure: Throughput, Bound: 0.45, Baseline: "go-redis without pipelining, both on TCP",
	},
	{
		Work: "memcached Get 100 B, 64 callers", Contest: "memcached/tcp/get/100B/64", Of: "fast", Against: "direct",
		Measure: Throughput, Bound: 1.2, Baseline: "gomemcache with a connection for each caller, both on TCP",
	},
	{
		Work: "PostgreSQL Get 100 B, 64 callers", Contest: "database/unix/get/100B/64", Of: "fast", Against: "direct",
		Measure: Throughput, Bound: 1.0, Baseline: "a pgx pool of as many connections, both on a unix socket",
	},
	{
		Work: "file Get 4 KiB, 1 caller", Contest: "file/get/4KiB/1", Of: "fast", Against: "direct",
		Measure: Slower, Bound: 6, Baseline: "os.ReadFile of the same files, in process",
	},
	{
		Work: "GetMany of 100 on redis, 1 caller", Contest: "redis/tcp/getmany/100/1", Of: "fast", Against: "direct",
		Measure: Throughput, Bound: 15, Baseline: "100 single Gets of go-redis, one after the other, both on TCP",
	},
	{
		Work: "a free `exclusive` lock and unlock on redis", Contest: "lock/free/1", Of: "fast", Against: "redislock",
		Measure: Slower, Bound: 2.2, Baseline: "bsm/redislock over go-redis, both on TCP",
	},
}

// Watched are further ratios: they have no floor, and must not fall either.
var Watched = []Floor{
	{
		Work: "memory Get 100 B, 1 caller", Contest: "memory/get/100B/1", Of: "fast", Against: "ping-pong",
		Measure: Slower, Baseline: "a bare ping-pong between two Go processes over a socket pair",
	},
	{
		Work: "memory Get 100 B, 8 callers", Contest: "memory/get/100B/8", Of: "fast", Against: "unary",
		Measure: Throughput, Baseline: "unary gRPC through go-plugin, unix socket, no TLS",
	},
	{
		Work: "memory Get 1 MiB, 1 caller", Contest: "memory/get/1MiB/1", Of: "fast", Against: "unary",
		Measure: Throughput, Baseline: "unary gRPC through go-plugin, unix socket, no TLS",
	},
	{
		Work: "memory Set 100 B, 64 callers", Contest: "memory/set/100B/64", Of: "fast", Against: "unary",
		Measure: Throughput, Baseline: "unary gRPC through go-plugin, unix socket, no TLS",
	},
	{
		Work: "sparse memory Get 100 B, 1 caller", Contest: "paced/memory/get/100B/1", Of: "fast", Against: "unary",
		Measure: Quicker, Baseline: "unary gRPC through go-plugin, unix socket, no TLS; a call every 500 µs",
	},
	{
		Work: "redis Set 100 B, 64 callers", Contest: "redis/unix/set/100B/64", Of: "fast", Against: "direct",
		Measure: Throughput, Baseline: "go-redis without pipelining, both on a unix socket",
	},
}

// All are the floors and what is watched.
func All() []Floor { return append(append([]Floor(nil), Floors...), Watched...) }
