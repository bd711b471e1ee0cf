package statements

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	cache "github.com/cachewright/cachewright/core"
)

// roles are what other hosts can do for a test.
var roles = map[string]role{
	"holder":   holder,
	"counter":  counter,
	"crowd":    crowd,
	"writer":   writer,
	"resolver": resolver,
}

// holder enters the default store's lock "k", stays until it is told, and says
// how it got out; or ends its process there.
func holder(p *part) error {
	m, err := p.open()
	if err != nil {
		return err
	}
	defer m.Close(p.ctx)
	err = m.Lock("k").Do(p.ctx, func(context.Context) error {
		p.say("inside")
		if p.hear() == "exit" {
			os.Exit(1)
		}
		return nil
	})
	p.say(fmt.Sprint(err))
	return err
}

// resolver remembers "k" under its lock, and takes its time to resolve it.
func resolver(p *part) error {
	m, err := p.open()
	if err != nil {
		return err
	}
	defer m.Close(p.ctx)
	r, err := m.Store("")
	if err != nil {
		return err
	}
	v, err := cache.RememberLocked(p.ctx, r, "k", cache.Forever, func(context.Context) (any, error) {
		p.say("resolving")
		return p.hear(), nil
	})
	p.say(string(v.Bytes()))
	return err
}

// crowd sends eight participants through the default store's lock "k", five
// times each, and says how often one met another inside.
func crowd(p *part) error {
	m, err := p.open()
	if err != nil {
		return err
	}
	defer m.Close(p.ctx)
	p.say("ready")
	p.hear()
	var met, failed atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				if err := m.Lock("k").Do(p.ctx, meet(m, &met)); err != nil {
					failed.Add(1)
				}
			}
		})
	}
	all.Wait()
	p.say(fmt.Sprintf("met %d, failed %d", met.Load(), failed.Load()))
	return nil
}

// meet is a block that counts who else is inside.
func meet(m *cache.CacheManager, met *atomic.Int64) func(context.Context) error {
	return func(ctx context.Context) error {
		n, err := m.Increment(ctx, "inside", 1)
		if err != nil {
			return err
		}
		if n != 1 {
			met.Add(1)
		}
		_, err = m.Decrement(ctx, "inside", 1)
		return err
	}
}

// counter increments "n" a thousand times under the lock "k", once everybody
// is inside.
func counter(p *part) error {
	m, err := p.open()
	if err != nil {
		return err
	}
	defer m.Close(p.ctx)
	err = m.Lock("k").Do(p.ctx, func(ctx context.Context) error {
		p.say("inside")
		p.hear()
		for range 1000 {
			if _, err := m.Increment(ctx, "n", 1); err != nil {
				return err
			}
		}
		return getThenSet(ctx, p, m)
	})
	p.say(fmt.Sprint(err))
	return err
}

// getThenSet reads, lets everybody else read, and writes.
func getThenSet(ctx context.Context, p *part, m *cache.CacheManager) error {
	n, _, err := cache.Of[int](m).Get(ctx, "unsafe")
	if err != nil {
		return err
	}
	p.say("read " + strconv.Itoa(n))
	p.hear()
	return m.Set(ctx, "unsafe", n+1, cache.Forever)
}

// writer sets, deletes and clears without any lock.
func writer(p *part) error {
	m, err := p.open()
	if err != nil {
		return err
	}
	defer m.Close(p.ctx)
	if err := m.Set(p.ctx, "guarded", "another's", cache.Forever); err != nil {
		return err
	}
	if _, err := m.Delete(p.ctx, "guarded"); err != nil {
		return err
	}
	if err := m.Clear(p.ctx); err != nil {
		return err
	}
	p.say("written")
	return nil
}
