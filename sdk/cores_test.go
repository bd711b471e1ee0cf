package sdk

import (
	"runtime"
	"testing"
)

// Not parallel: it changes how many cores this process uses.
func TestAProcessHasHalfOfTheCoresUntilAStoreNeedsThreads(t *testing.T) {
	all := runtime.GOMAXPROCS(4)
	defer runtime.GOMAXPROCS(all)
	t.Setenv("GOMAXPROCS", "")
	c := newCoreShare()
	c.admit(DispatchInline)
	c.admit(DispatchTogether)
	if n := runtime.GOMAXPROCS(0); n != 2 {
		t.Errorf("%d of 4 cores for stores that never block", n)
	}
	c.admit(DispatchApart)
	if n := runtime.GOMAXPROCS(0); n != runtime.NumCPU() {
		t.Errorf("%d of %d cores with a store that may block", n, runtime.NumCPU())
	}
	c.admit(DispatchInline)
	if n := runtime.GOMAXPROCS(0); n != runtime.NumCPU() {
		t.Errorf("%d cores after another store", n)
	}
}

func TestTheEnvironmentDecidesOverTheCores(t *testing.T) {
	all := runtime.GOMAXPROCS(4)
	defer runtime.GOMAXPROCS(all)
	t.Setenv("GOMAXPROCS", "4")
	newCoreShare().admit(DispatchInline)
	if n := runtime.GOMAXPROCS(0); n != 4 {
		t.Errorf("%d cores although the environment says 4", n)
	}
}
