package core

import (
	"fmt"
	"math"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// Forever is the TTL of an entry without expiry. It is the only one: zero and
// negative TTLs are errors, and so is what arithmetic on Forever overflows to.
const Forever time.Duration = math.MaxInt64

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
