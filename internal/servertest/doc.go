// Package servertest starts real servers for tests: Redis, Redis Sentinel and
// Cluster, Memcached, PostgreSQL and PgBouncer, and a proxy that breaks
// connections on purpose.
//
// Every server listens on 127.0.0.1 at a port of its own and on a unix socket
// in a temporary folder of its own. It is stopped and its folder is removed
// when the test that started it ends; when that test failed, the end of its
// log is shown. A test binary that dies takes its servers with it.
//
// A program that isn't installed skips the test. With the environment variable
// CACHEWRIGHT_REQUIRE_SERVERS set to 1, as `make test` does, it fails it.
package servertest
