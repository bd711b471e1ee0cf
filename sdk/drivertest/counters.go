package drivertest

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

var counting = []sdk.Capability{sdk.CanIncrement}

var counterCases = []Case{
	{
		Name:  "counters/start",
		Rule:  "An absent counter starts from 0, and a counter is stored as the text of its number.",
		Needs: counting,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			c.counts(c.key("k"), 5, 5)
			c.holds(c.key("k"), "5")
			c.counts(c.key("k"), -7, -2)
			c.holds(c.key("k"), "-2")
			c.counts(c.key("zero"), 0, 0)
			c.holds(c.key("zero"), "0")
			c.set(c.key("k"), "41", sdk.NoExpiry)
			c.counts(c.key("k"), 1, 42)
			c.delete(c.key("k"))
			c.counts(c.key("k"), 1, 1)
		},
	},
	{
		Name:  "counters/grammar",
		Rule:  "An integer is 0 or digits without a leading zero, with a minus where negative; anything else is ErrNotInteger and stays.",
		Needs: counting,
		Run:   counterGrammar,
	},
	{
		Name:  "counters/overflow",
		Rule:  "A sum outside 64 bits is ErrOverflow and leaves the counter as it was.",
		Needs: counting,
		Run:   counterOverflow,
	},
	{
		Name:  "counters/through-zero",
		Rule:  "A counter at 0 is a live counter: it is neither new nor absent, and keeps its expiry.",
		Needs: counting,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			c.counts(c.key("k"), 1, 1)
			c.counts(c.key("k"), -1, 0)
			c.holds(c.key("k"), "0")
			if sum := c.increment(c.key("k"), 1, c.soon()); sum != 1 {
				t.Errorf("Increment from 0 = %d; want 1", sum)
			}
			time.Sleep(c.soon())
			c.holds(c.key("k"), "1")
		},
	},
	{
		Name:  "counters/initial-ttl",
		Rule:  "A counter that Increment creates expires after initialTTL, counted from its creation; the next one starts anew, with a TTL of its own.",
		Needs: counting,
		Run:   initialTTL,
	},
	{
		Name:  "counters/expiry-kept",
		Rule:  "Increment of a live counter keeps its expiry: it neither loses it, nor prolongs it, nor gains one.",
		Needs: counting,
		Run:   expiryKept,
	},
	{
		Name:  "counters/no-immortal",
		Rule:  "However increments and expiry meet, a counter with an initialTTL expires once increments stop.",
		Needs: counting,
		Run:   noImmortal,
	},
	{
		Name:  "counters/no-lost-step",
		Rule:  "64 callers that count at once lose no step, and no two see the same sum.",
		Needs: counting,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			c.countTogether(c)
		},
	},
	{
		Name:   "counters/no-lost-step-between-processes",
		Rule:   "Callers in two processes lose no step, and no two see the same sum.",
		Needs:  counting,
		Except: unshared,
		Advice: adviceShared,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			c.countTogether(c.another())
		},
	},
}

// counts fails unless adding delta gives sum.
func (c check) counts(key string, delta, sum int64) {
	if got := c.increment(key, delta, sdk.NoExpiry); got != sum {
		c.t.Errorf("Increment(%s, %d) = %d; want %d", show(key), delta, got, sum)
	}
}

func counterGrammar(ctx context.Context, t T) {
	c := on(ctx, t)
	for _, n := range []int64{0, 1, -1, 10, math.MaxInt64 - 1, math.MinInt64} {
		c.set(c.key("k"), strconv.FormatInt(n, 10), sdk.NoExpiry)
		c.counts(c.key("k"), 1, n+1)
	}
	for _, text := range []string{
		"", " ", "00", "01", "007", "-01", "+1", "-0", "--1", "-", "+", " 1", "1 ", "1\n", "\t1", "1\x00", "1.0", "1.", ".5", "1e3", "1E3",
		"10abc", "abc", "0x10", "0b1", "1_000", "1,000", "null", "true", `"1"`, "[1]", "NaN", "Infinity", "１", "٣", "−1",
		"9223372036854775808", "-9223372036854775809", "18446744073709551615", "99999999999999999999999",
	} {
		c.set(c.key("k"), text, sdk.NoExpiry)
		sum, err := c.Increment(ctx, c.key("k"), 1, sdk.NoExpiry)
		if !errors.Is(err, sdk.ErrNotInteger) {
			t.Errorf("Increment of %s = %d, %v; want ErrNotInteger", show(text), sum, err)
		}
		c.holds(c.key("k"), text)
	}
}

func counterOverflow(ctx context.Context, t T) {
	c := on(ctx, t)
	for _, sum := range []struct{ from, delta int64 }{
		{math.MaxInt64, 1}, {math.MaxInt64, math.MaxInt64}, {1, math.MaxInt64},
		{math.MinInt64, -1}, {math.MinInt64, math.MinInt64}, {-1, math.MinInt64},
	} {
		text := strconv.FormatInt(sum.from, 10)
		c.set(c.key("k"), text, sdk.NoExpiry)
		got, err := c.Increment(ctx, c.key("k"), sum.delta, sdk.NoExpiry)
		if !errors.Is(err, sdk.ErrOverflow) {
			t.Errorf("%d + %d = %d, %v; want ErrOverflow", sum.from, sum.delta, got, err)
		}
		c.holds(c.key("k"), text)
	}
	for _, sum := range []struct{ from, delta, want int64 }{
		{0, math.MaxInt64, math.MaxInt64}, {0, math.MinInt64, math.MinInt64}, {-1, math.MaxInt64, math.MaxInt64 - 1},
		{math.MaxInt64, math.MinInt64, -1}, {math.MinInt64, math.MaxInt64, -1}, {math.MaxInt64, 0, math.MaxInt64},
		{1<<53 + 1, 1, 1<<53 + 2}, {-(1<<53 + 1), -1, -(1<<53 + 2)},
	} {
		c.set(c.key("k"), strconv.FormatInt(sum.from, 10), sdk.NoExpiry)
		c.counts(c.key("k"), sum.delta, sum.want)
		c.holds(c.key("k"), strconv.FormatInt(sum.want, 10))
	}
	c.delete(c.key("k"))
	c.counts(c.key("k"), math.MinInt64, math.MinInt64)
}

func initialTTL(ctx context.Context, t T) {
	c := on(ctx, t)
	for range 2 {
		c.expires(c.key("k"), c.soon(), func(ttl time.Duration) {
			if sum := c.increment(c.key("k"), 3, ttl); sum != 3 {
				t.Errorf("the first Increment of a counter = %d; want 3", sum)
			}
		})
	}
	c.increment(c.key("hour"), 1, time.Hour)
	c.lives(c.key("hour"), time.Hour)
}

func expiryKept(ctx context.Context, t T) {
	c := on(ctx, t)
	c.expires(c.key("kept"), c.soon(), func(time.Duration) {
		c.inTime("Increment", func(ttl time.Duration) bool {
			c.set(c.key("kept"), "1", ttl)
			c.increment(c.key("kept"), 1, time.Hour)
			return c.increment(c.key("kept"), 1, time.Hour) == 3
		})
	})
	c.set(c.key("forever"), "1", sdk.NoExpiry)
	c.increment(c.key("forever"), 1, c.soon())
	c.lives(c.key("forever"), sdk.NoExpiry)
	c.set(c.key("hour"), "1", time.Hour)
	c.increment(c.key("hour"), 1, sdk.NoExpiry)
	c.lives(c.key("hour"), time.Hour)
	time.Sleep(c.soon())
	c.holds(c.key("forever"), "2")
}

// noImmortal counts through several lives of several counters.
func noImmortal(ctx context.Context, t T) {
	c := on(ctx, t)
	keys := c.keys(8, "k")
	step := c.Traits().Granularity
	end := time.Now().Add(max(200*time.Millisecond, 3*step))
	together(len(keys), func(i int) {
		for time.Now().Before(end) {
			if _, err := c.Increment(ctx, keys[i], 1, 5*step); err != nil {
				t.Errorf("Increment: %v", err)
				return
			}
			time.Sleep(step / 4) // in a bubble, time passes only here
		}
	})
	for _, key := range keys {
		c.gone(key)
	}
}

// countTogether lets callers of two stores count to the same total.
func (c check) countTogether(other check) {
	const steps = 10
	sums := make([][steps]int64, callers)
	together(callers, func(i int) {
		s := c.Store
		if i%2 == 1 {
			s = other.Store
		}
		for step := range steps {
			sum, err := s.Increment(c.ctx, c.key("k"), 1, sdk.NoExpiry)
			if err != nil {
				c.t.Errorf("Increment: %v", err)
			}
			sums[i][step] = sum
		}
	})
	c.holds(c.key("k"), strconv.Itoa(callers*steps))
	seen := make(map[int64]bool)
	for _, caller := range sums {
		for _, sum := range caller {
			if seen[sum] {
				c.t.Errorf("two callers were told the sum %d", sum)
				return
			}
			seen[sum] = true
		}
	}
}
