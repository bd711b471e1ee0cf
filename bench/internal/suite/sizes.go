package suite

import (
	"context"
	"fmt"

	"github.com/cachewright/cachewright/bench/internal/client"
	"github.com/cachewright/cachewright/bench/internal/contest"
)

// A size is one of the values that are measured.
type size struct {
	name         string
	bytes, count int
}

var (
	small  = size{"100 B", 100, 1000}
	medium = size{"4 KiB", 4 << 10, 250}
	large  = size{"1 MiB", 1 << 20, 4}
)

// data are entries of a size for one who stores them.
func (z size) data(owner string) client.Data {
	return client.NewData(fmt.Sprintf("%s-%d", owner, z.bytes), z.count, z.bytes)
}

// A party is somebody who takes part in contests about values.
type party struct {
	key, title string
	client     client.Client
	often      bool // its calls are too short to time each
}

func (p *Plane) party(store string) party {
	return party{key: p.Key, title: p.Title, client: p.Store(store)}
}

func (p party) get(z size) contest.Contender {
	return p.repeated(client.Get(p.key, p.title, p.client, z.data(p.key)))
}

func (p party) set(z size) contest.Contender {
	return p.repeated(client.Set(p.key, p.title, p.client, z.data(p.key)))
}

func (p party) repeated(c contest.Contender) contest.Contender {
	if p.often {
		return client.Often(c)
	}
	return c
}

// seed stores the entries of all parties.
func seed(ctx context.Context, parties []party, sizes ...size) error {
	for _, p := range parties {
		for _, z := range sizes {
			if err := z.data(p.key).Seed(ctx, p.client); err != nil {
				return fmt.Errorf("%s: %w", p.title, err)
			}
		}
	}
	return nil
}

// gets are contests in reading, one for each number of callers.
func gets(key, baseline string, z size, parties []party, callers ...int) []contest.Contest {
	return contests(key, baseline, callers, func(int) (all []contest.Contender) {
		for _, p := range parties {
			all = append(all, p.get(z))
		}
		return all
	})
}

// sets are contests in writing.
func sets(key, baseline string, z size, parties []party, callers ...int) []contest.Contest {
	return contests(key, baseline, callers, func(int) (all []contest.Contender) {
		for _, p := range parties {
			all = append(all, p.set(z))
		}
		return all
	})
}

func contests(key, baseline string, callers []int, who func(callers int) []contest.Contender) (all []contest.Contest) {
	for _, n := range callers {
		all = append(all, contest.Contest{
			Key: fmt.Sprintf("%s/%d", key, n), Callers: n, Baseline: baseline, Contenders: who(n),
		})
	}
	return all
}
