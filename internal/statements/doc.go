// Package statements proves what docs/locks.md says of cache locks, statement by
// statement, through the public API and with drivers as processes. Where a
// statement is about processes, the test binary runs once more as another host.
package statements
