package growth

import (
	"fmt"

	"github.com/cachewright/cachewright/bench/internal/report"
)

// slack is what a measurement may be off by, and caches of the machine that get
// too small may cost.
const slack = 2.5

// coldSlack is slack for what outgrows the caches by itself, the stacks of very
// many goroutines or entries of gigabytes: every step then waits for memory, in
// whatever code it is.
const coldSlack = 4

// A curve is a cost by size, from the smallest size to the largest.
type curve struct {
	name  string
	slack float64 // 0: slack
	sizes []int
	costs []float64
}

func (c *curve) add(size int, cost float64) {
	c.sizes = append(c.sizes, size)
	c.costs = append(c.costs, cost)
}

// linear tells where the cost grows faster than the size: where a step costs
// more than in proportion to any smaller one.
func (c curve) linear() []string { return c.faults(1) }

// level tells where a cost grows at all that shouldn't.
func (c curve) level() []string { return c.faults(0) }

func (c curve) faults(power int) (faults []string) {
	most := c.slack
	if most == 0 {
		most = slack
	}
	for i := range c.costs {
		for j := range i {
			allowed := most * c.costs[j]
			if power == 1 {
				allowed *= float64(c.sizes[i]) / float64(c.sizes[j])
			}
			if !(c.costs[i] <= allowed) {
				faults = append(faults, fmt.Sprintf("%s: %s at %d after %s at %d", c.name,
					report.Number(c.costs[i]), c.sizes[i], report.Number(c.costs[j]), c.sizes[j]))
				break
			}
		}
	}
	return faults
}
