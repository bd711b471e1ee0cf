package core

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// defaultLoadLimit bounds a detached resolver where SingleFlight says nothing.
const defaultLoadLimit = 30 * time.Second

// A RememberOption changes one Remember. Without any, Remember is a read and,
// on a miss, the resolver in the caller's goroutine and a write. docs/remember.md
// tells how options combine and what each costs.
type RememberOption func(*policy)

// A policy is what the options of one Remember say.
type policy struct {
	detached   bool
	limit      time.Duration
	lock       []LockOption
	locked     bool
	negative   time.Duration
	stale      time.Duration
	soft, hard time.Duration
	pause      time.Duration
	ahead      float64
	chance     float64
	jitter     float64
	choose     func(any) (time.Duration, error)
	err        error // what is wrong with the options
}

func policyOf(opts []RememberOption) (*policy, error) {
	p := &policy{limit: defaultLoadLimit}
	for _, opt := range opts {
		opt(p)
	}
	if p.stale == 0 && p.soft > 0 {
		p.refuse("SoftLimit serves a value past its TTL, and StaleFor keeps none")
	}
	if p.pause > 0 && !p.headed() {
		p.refuse("RetryAfter needs a value to serve meanwhile: StaleFor keeps one, and early refresh has one")
	}
	if p.soft > 0 && p.hard > 0 && p.soft >= p.hard {
		p.refuse("a SoftLimit of %v never ends before the HardLimit of %v", p.soft, p.hard)
	}
	return p, p.err
}

func (p *policy) refuse(format string, args ...any) {
	p.err = errors.Join(p.err, fmt.Errorf("%w: "+format, append([]any{ErrInvalidRememberOption}, args...)...))
}

func (p *policy) positive(option string, d time.Duration) time.Duration {
	if d <= 0 {
		p.refuse("%s wants a positive duration, not %v", option, d)
	}
	return d
}

// SingleFlight lets one resolver a key and store run in this process, for all
// who ask meanwhile. It is detached: it runs in a goroutine of its own, on a
// context with the first asker's values and without its cancellation, ends at
// limit or with Close, and stores its value also when nobody waits any more.
// Each caller waits under its own context. At limit the callers get
// ErrResolverTimeout, and the next one starts anew.
//
// If the resolver panics, every caller that waits panics with a *ResolverPanic;
// without any it is logged. The first asker's resolver, TTL and options count
// for all. Costs a goroutine a load, and a second read where two loads of one
// key follow each other closely. Across processes it coalesces nothing:
// UnderLock does.
func SingleFlight(limit time.Duration) RememberOption {
	return func(p *policy) {
		p.detached = true
		p.limit = p.positive("SingleFlight", limit)
	}
}

// UnderLock lets the resolver run only under the lock of the key, as
// RememberLocked does: the entry is read again there, and one that appeared
// meanwhile wins. Without SingleFlight every caller of this process takes part
// in the lock; with it, one does. A lock that is not entered is the load's
// failure. Costs what the store's lock strategy costs, and a read more a load.
func UnderLock(opts ...LockOption) RememberOption {
	return func(p *policy) {
		p.locked = true
		p.lock = append(p.lock, opts...)
	}
}

// NegativeTTL keeps for ttl that the resolver answered ErrNotFound: until then
// Remember with this option answers ErrNotFound without asking. For Get such an
// entry is a miss; Has, TTL, Add and Replace see an entry, and Set and Delete
// end it. Costs a write for every key asked for in vain: where strangers choose
// the keys, the store needs a bound.
func NegativeTTL(ttl time.Duration) RememberOption {
	return func(p *policy) { p.negative = p.positive("NegativeTTL", ttl) }
}

// StaleFor keeps the value for more time after its TTL, and serves it, marked
// by Value.Stale, when the resolver fails; a resolver's ErrNotFound is an answer
// and no failure. Get misses a value past its TTL as ever; Has, TTL, Add and
// Replace see it until the time is up. Costs 30 bytes an entry, which is then no
// counter and not readable with the backend's own tools, room in the store for
// longer, and that errors are seen by hooks only (OpStale). Hosts need clocks as
// close as the TTL is meant.
func StaleFor(more time.Duration) RememberOption {
	return func(p *policy) { p.stale = p.positive("StaleFor", more) }
}

// SoftLimit serves the value that StaleFor keeps if the resolver takes longer
// than d, and lets the resolver finish in the background. Implies SingleFlight.
func SoftLimit(d time.Duration) RememberOption {
	return func(p *policy) {
		p.detached = true
		p.soft = p.positive("SoftLimit", d)
	}
}

// HardLimit ends a caller's wait for the resolver after d, with the value that
// StaleFor keeps or else with ErrResolverTimeout; the resolver goes on in the
// background and its value is stored. Implies SingleFlight.
func HardLimit(d time.Duration) RememberOption {
	return func(p *policy) {
		p.detached = true
		p.hard = p.positive("HardLimit", d)
	}
}

// RetryAfter leaves the resolver of a key in peace for d after it failed, as
// long as there is a value to serve: one that StaleFor keeps, or one that early
// refresh would replace. A refresh whose value could not be stored, or that found
// nothing, is such a failure too. It is remembered in this process only. Costs
// that a source which recovers is noticed up to d later.
func RetryAfter(d time.Duration) RememberOption {
	return func(p *policy) { p.pause = p.positive("RetryAfter", d) }
}

// RefreshAhead makes a hit after that fraction of the TTL, above 0 and below 1,
// start the resolver in the background, so that a key which is asked for often
// never expires; the hit is served at once. Each process refreshes on its own
// unless UnderLock joins them. A refresh that fails is tried again by the next
// hit, or after RetryAfter. Implies SingleFlight. Costs 30 bytes an entry as
// StaleFor does, and resolvers that nobody would have needed.
func RefreshAhead(fraction float64) RememberOption {
	return func(p *policy) {
		p.detached = true
		p.ahead = fraction
		if !(fraction > 0 && fraction < 1) {
			p.refuse("RefreshAhead wants a fraction between 0 and 1, not %v", fraction)
		}
	}
}

// RefreshByChance starts the resolver in the background with a probability that
// grows as the TTL ends and with what resolving cost (XFetch): about one of all
// processes does it, without asking the others. beta is 1 by the theory; more
// is earlier. Implies SingleFlight. Costs as RefreshAhead.
func RefreshByChance(beta float64) RememberOption {
	return func(p *policy) {
		p.detached = true
		p.chance = beta
		if !(beta > 0) || math.IsInf(beta, 1) {
			p.refuse("RefreshByChance wants a positive number, not %v", beta)
		}
	}
}

// TTLJitter shortens the TTL by a random part of up to fraction, above 0 and
// below 1, so that what was stored together does not expire together. Forever
// stays. Costs nothing but the time that entries live less.
func TTLJitter(fraction float64) RememberOption {
	return func(p *policy) {
		p.jitter = fraction
		if !(fraction > 0 && fraction < 1) {
			p.refuse("TTLJitter wants a fraction between 0 and 1, not %v", fraction)
		}
	}
}

// TTLFrom lets the resolved value choose its TTL, instead of the one given to
// Remember; DefaultTTL is the store's. Zero or less says that it is out of date
// already: the value is returned and not stored. A value of another type than T
// is ErrWrongType.
func TTLFrom[T any](choose func(value T) time.Duration) RememberOption {
	return func(p *policy) {
		p.choose = func(value any) (time.Duration, error) {
			v, ok := value.(T)
			if !ok && value != nil {
				return 0, fmt.Errorf("%w: TTLFrom takes %T, and the resolver returned %T", ErrWrongType, v, value)
			}
			return choose(v), nil
		}
	}
}

// headed reports whether the values of this policy need their freshness noted.
func (p *policy) headed() bool { return p.stale > 0 || p.ahead > 0 || p.chance > 0 }

// due reports whether a fresh entry should be computed anew already.
func (p *policy) due(e envelope, now time.Time) bool {
	if e.written.IsZero() || e.due.IsZero() {
		return false
	}
	if p.ahead > 0 && now.Sub(e.written) >= time.Duration(p.ahead*float64(e.due.Sub(e.written))) {
		return true
	}
	gap := -math.Log(1-rand.Float64()) * p.chance * float64(e.took)
	return p.chance > 0 && gap >= float64(e.due.Sub(now))
}
