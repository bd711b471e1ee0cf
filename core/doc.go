// Package core is what an application imports: named stores from YAML behind
// one API and one lock contract.
//
//	import (
//		cache "github.com/cachewright/cachewright/core"
//		_ "github.com/cachewright/cachewright/drivers/builtin"
//	)
//
//	caches, err := cache.Open(ctx, "config.yaml")
//	reports, err := caches.Store("reports")
//	err = reports.Set(ctx, "today", summary, 10*time.Minute)
//
// A [CacheManager] reads the configuration and hands out one [CacheRepository]
// per store. A repository checks keys and TTLs, adds the store's prefix, encodes
// values and makes one call to the driver's process. Drivers start when one of
// their stores is first used; [CacheManager.Warm] starts them all.
//
// # Answers
//
// A read gives a [Value], which tells absent from stored null. A miss is not an
// error. Errors are matched with errors.Is against the variables of this
// package; [Error] says operation, store, driver and key.
//
// # Expiry
//
// Every write takes a TTL. [Forever] is the only way to say none: zero and
// negative TTLs are [ErrInvalidTTL], so that a computed TTL which ran out never
// becomes immortal.
//
// # Locks
//
// Locks are not part of the contracts [ICacheManager] and [ICacheRepository],
// since what a lock means depends on the store. The concrete types implement
// [Locker]; a service that was handed an interface asserts it:
//
//	lock := repository.(cache.Locker).Lock("report:build", cache.LockTimeout(3*time.Second))
//	err := lock.Do(ctx, build)
//
// # Names
//
// ICacheManager and ICacheRepository carry an I because they are the public
// vocabulary that this package was asked to offer; nothing else does.
package core
