package baseline

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/cachewright/cachewright/bench/internal/floor"
	"github.com/cachewright/cachewright/bench/internal/report"
)

func TestARatioFailsWhenItFallsBeyondNoise(t *testing.T) {
	t.Parallel()
	here, there := report.Machine{CPU: "this", Cores: 2}, report.Machine{CPU: "that", Cores: 2}
	fast := floor.Floor{Work: "fast", Measure: floor.Throughput, Bound: 2}
	cheap := floor.Floor{Work: "cheap", Measure: floor.Slower, Bound: 3}
	b := New(here, []floor.Verdict{{Floor: fast, Ratio: 4, Spread: 0.1}, {Floor: cheap, Ratio: 1.5, Spread: 0.02}})
	for name, test := range map[string]struct {
		machine report.Machine
		verdict floor.Verdict
		fails   bool
	}{
		"the same":                           {here, floor.Verdict{Floor: fast, Ratio: 4}, false},
		"better":                             {here, floor.Verdict{Floor: fast, Ratio: 9}, false},
		"lower within the noise of both":     {here, floor.Verdict{Floor: fast, Ratio: 3.2, Spread: 0.2}, false},
		"lower beyond it":                    {here, floor.Verdict{Floor: fast, Ratio: 3, Spread: 0.2}, true},
		"lower beyond a quiet run's noise":   {here, floor.Verdict{Floor: fast, Ratio: 3.2}, true},
		"dearer within the least noise":      {here, floor.Verdict{Floor: cheap, Ratio: 1.64}, false},
		"dearer beyond it":                   {here, floor.Verdict{Floor: cheap, Ratio: 1.7}, true},
		"cheaper":                            {here, floor.Verdict{Floor: cheap, Ratio: 1}, false},
		"unknown to the baseline":            {here, floor.Verdict{Floor: floor.Floor{Work: "new"}, Ratio: 1}, true},
		"fallen, but above the floor, there": {there, floor.Verdict{Floor: fast, Ratio: 2.1}, false},
		"below the floor there":              {there, floor.Verdict{Floor: fast, Ratio: 1.9}, true},
		"above the limit there":              {there, floor.Verdict{Floor: cheap, Ratio: 3.1}, true},
		"watched only, there":                {there, floor.Verdict{Floor: floor.Floor{Work: "new"}, Ratio: 0.1}, false},
	} {
		if found := b.Check(test.machine, []floor.Verdict{test.verdict}); (len(found) > 0) != test.fails {
			t.Errorf("%s: found %+v", name, found)
		}
	}
}

func TestWithoutABaselineTheFloorsCount(t *testing.T) {
	t.Parallel()
	low := floor.Verdict{Floor: floor.Floor{Work: "w", Bound: 2}, Ratio: 1}
	if found := (Baseline{}).Check(report.ThisMachine(), []floor.Verdict{low}); len(found) != 1 {
		t.Errorf("found %+v", found)
	}
}

func TestABaselineIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "baseline.json")
	want := New(report.ThisMachine(), []floor.Verdict{{Floor: floor.Floor{Work: "w"}, Ratio: 1.23456, Spread: 0.1}})
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if want.Ratios["w"].Ratio != 1.2346 {
		t.Errorf("the ratio is kept as %v", want.Ratios["w"].Ratio)
	}
	if _, err := Read(path + ".none"); err == nil {
		t.Error("a file that isn't there is read")
	}
}
