package baseline

import (
	"fmt"

	"github.com/cachewright/cachewright/bench/internal/floor"
	"github.com/cachewright/cachewright/bench/internal/report"
)

// leastNoise is what a ratio may fall by in any case. Runs differ by more than
// the rounds of one do: in where things lie in memory, and who else uses the
// machine.
const leastNoise = 0.10

// A Finding is a verdict that is not what it should be.
type Finding struct {
	floor.Verdict
	Why string
}

// Check compares verdicts with the baseline if it is of this machine, and
// otherwise judges them by their floors.
func (b Baseline) Check(m report.Machine, verdicts []floor.Verdict) (found []Finding) {
	for _, v := range verdicts {
		if why := b.judge(m, v); why != "" {
			found = append(found, Finding{v, why})
		}
	}
	return found
}

// Applies says whether ratios measured on m may be compared with these.
func (b Baseline) Applies(m report.Machine) bool { return b.Machine == m }

func (b Baseline) judge(m report.Machine, v floor.Verdict) string {
	if !b.Applies(m) {
		if v.Kept() {
			return ""
		}
		return fmt.Sprintf("%s, floor %s", report.Number(v.Ratio), v.Limit())
	}
	was, ok := b.Ratios[v.Work]
	if !ok {
		return "not in the baseline; make bench writes it"
	}
	noise := max(leastNoise, was.Spread+v.Spread)
	if limit := was.worst(v.Measure, noise); v.Worse(v.Ratio, limit) {
		return fmt.Sprintf("%s, was %s, noise %s", report.Number(v.Ratio), report.Number(was.Ratio), report.Share(noise))
	}
	return ""
}

// worst is the worst ratio that noise explains.
func (r Ratio) worst(m floor.Measure, noise float64) float64 {
	if m == floor.Slower {
		return r.Ratio * (1 + noise)
	}
	return r.Ratio / (1 + noise)
}
