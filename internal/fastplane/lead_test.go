package fastplane

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// A dawdler takes as many microseconds for an answer as the key says.
type dawdler struct{ mirror }

func (d *dawdler) Handle(ctx context.Context, r *Request) Answer {
	var us int
	fmt.Sscanf(r.Key, "%d:", &us)
	time.Sleep(time.Duration(us) * time.Microsecond)
	return Answer{Status: StatusYes, Value: []byte(r.Key)}
}

// Where few are under way nobody else's call makes up for one that was
// forgotten between a caller who leads the reading and the reader. Answers come
// before, in and after the time that a caller leads; some callers leave.
func TestFewCallersAreNeverForgotten(t *testing.T) {
	t.Parallel()
	for callers := 1; callers <= 3; callers++ {
		t.Run(fmt.Sprint(callers), func(t *testing.T) {
			t.Parallel()
			c := connected(t, &dawdler{mirror{manner: Apart}})
			ended := make(chan error, callers)
			var all sync.WaitGroup
			for n := range callers {
				all.Go(func() { ended <- c.dawdle(rand.New(rand.NewPCG(uint64(n), 3))) })
			}
			for range callers {
				if err := await(t, ended); err != nil {
					t.Error(err)
				}
			}
			all.Wait()
			checkIdle(t, c)
		})
	}
}

func (c *Client) dawdle(random *rand.Rand) error {
	for i := range 400 {
		us := random.IntN(1 << random.IntN(13))
		key := fmt.Sprintf("%d:%d", us, i)
		ctx, cancel := context.Background(), func() {}
		leaves := random.IntN(4) == 0
		if leaves {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(us+1))*time.Microsecond)
		}
		a, _, err := c.Call(ctx, &Request{Op: OpGet, Store: 1, Key: key})
		cancel()
		if err != nil && !leaves || err == nil && string(a.Value) != key {
			return fmt.Errorf("%s: %q, %w", key, a.Value, err)
		}
		if random.IntN(8) == 0 {
			time.Sleep(time.Duration(random.IntN(2000)) * time.Microsecond)
		}
	}
	return nil
}
