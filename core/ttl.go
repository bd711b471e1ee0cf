package core

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// Forever is the TTL of an entry without expiry. It is the only one: zero and
// negative TTLs are errors, and so is what arithmetic on Forever overflows to.
const Forever time.Duration = math.MaxInt64

// DefaultTTL is the TTL that the store's configuration gives as default_ttl. On
// a store that has none it is ErrInvalidTTL. Nothing else is ever replaced by
// that default: no duration that a computation comes to, and no Forever.
const DefaultTTL time.Duration = math.MinInt64

// lifetime checks a TTL, and puts the store's default in the place of
// DefaultTTL.
func (s *store) lifetime(ttl time.Duration) (time.Duration, error) {
	if ttl != DefaultTTL {
		return ttl, checkTTL(ttl)
	}
	if s.defaultTTL == 0 {
		return 0, fmt.Errorf("%w: core.DefaultTTL, and the store has no default_ttl", ErrInvalidTTL)
	}
	return s.defaultTTL, nil
}

// jittered shortens the TTL of a value by a random part of the store's
// ttl_jitter. What guards or counts for a time keeps the time it was given.
func (s *store) jittered(op Op, ttl time.Duration) time.Duration {
	if op == OpAdd || op == OpIncrement {
		return ttl
	}
	return shortened(ttl, s.ttlJitter)
}

// shortened takes a random part of up to fraction off a TTL; Forever stays.
func shortened(ttl time.Duration, fraction float64) time.Duration {
	if fraction == 0 || ttl == Forever {
		return ttl
	}
	return max(1, ttl-time.Duration(rand.Float64()*fraction*float64(ttl)))
}

func checkTTL(ttl time.Duration) error {
	if ttl <= 0 {
		return fmt.Errorf("%w: %v is not positive; core.Forever means no expiry", ErrInvalidTTL, ttl)
	}
	return nil
}

// driverTTL turns a checked TTL into a driver's: Forever into none, anything
// else rounded up to the store's granularity.
func driverTTL(ttl, granularity time.Duration) time.Duration {
	short := ttl % granularity
	switch {
	case ttl > Forever-granularity:
		return sdk.NoExpiry
	case short == 0:
		return ttl
	}
	return ttl - short + granularity
}

// callerTTL is the way back.
func callerTTL(ttl time.Duration) time.Duration {
	if ttl == sdk.NoExpiry {
		return Forever
	}
	return ttl
}
