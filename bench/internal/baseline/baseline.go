// Package baseline keeps ratios that were measured once, and says whether those
// of a later run are worse by more than noise.
package baseline

import (
	"encoding/json"
	"os"

	"github.com/cachewright/cachewright/bench/internal/floor"
	"github.com/cachewright/cachewright/bench/internal/report"
)

// A Baseline is what is committed.
type Baseline struct {
	Machine report.Machine   `json:"machine"`
	Ratios  map[string]Ratio `json:"ratios"` // by the work of a floor
}

// A Ratio is one ratio, and the noise that it was measured with.
type Ratio struct {
	Ratio  float64 `json:"ratio"`
	Spread float64 `json:"spread"`
}

// New is the baseline that verdicts on a machine come to.
func New(m report.Machine, verdicts []floor.Verdict) Baseline {
	b := Baseline{m, make(map[string]Ratio, len(verdicts))}
	for _, v := range verdicts {
		b.Ratios[v.Work] = Ratio{round(v.Ratio), round(v.Spread)}
	}
	return b
}

// Read reads a baseline.
func Read(path string) (b Baseline, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return b, err
	}
	return b, json.Unmarshal(text, &b)
}

// Write writes a baseline.
func (b Baseline) Write(path string) error {
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func round(v float64) float64 { return float64(int64(v*10_000+0.5)) / 10_000 }
