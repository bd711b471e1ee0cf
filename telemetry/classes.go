package telemetry

import (
	"context"
	"errors"

	cache "github.com/cachewright/cachewright/core"
)

// classes name errors in labels. The first that matches is it; whatever
// matches none, the application's own errors among them, is "other".
var classes = []struct {
	err  error
	name string
}{
	{cache.ErrMaybeApplied, "maybe_applied"},
	{context.Canceled, "canceled"},
	{context.DeadlineExceeded, "deadline"},
	{cache.ErrLockTimeout, "lock_timeout"},
	{cache.ErrLockLost, "lock_lost"},
	{cache.ErrLockReentrant, "lock_reentrant"},
	{cache.ErrDriverUnavailable, "driver_unavailable"},
	{cache.ErrUnavailable, "unavailable"},
	{cache.ErrOverloaded, "overloaded"},
	{cache.ErrClosed, "closed"},
	{cache.ErrCorrupt, "corrupt"},
	{cache.ErrWrongType, "wrong_type"},
	{cache.ErrNull, "null"},
	{cache.ErrTooLarge, "too_large"},
	{cache.ErrNotInteger, "not_integer"},
	{cache.ErrOverflow, "overflow"},
	{cache.ErrInvalidKey, "invalid_key"},
	{cache.ErrInvalidTTL, "invalid_ttl"},
	{cache.ErrInvalidLockOption, "invalid_lock_option"},
	{cache.ErrInvalidOptions, "invalid_options"},
	{cache.ErrInvalidConfig, "invalid_config"},
	{cache.ErrNotFound, "not_found"},
	{cache.ErrResolverTimeout, "resolver_timeout"},
	{errors.ErrUnsupported, "unsupported"},
	{cache.ErrInternal, "internal"},
}

// classOf is the class of an error; that of none is empty.
func classOf(err error) string {
	if err == nil {
		return ""
	}
	for _, c := range classes {
		if errors.Is(err, c.err) {
			return c.name
		}
	}
	return "other"
}
