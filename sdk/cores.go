package sdk

import (
	"os"
	"runtime"
	"sync"
)

// A coreShare keeps a driver's process from taking the cores away from its
// host. A driver whose calls hardly compute and never block a thread, which is
// what its stores' Dispatch says, has half of them: waking one more for an
// instant costs both processes more than it brings. With one store of another
// kind, the process has all. GOMAXPROCS in the driver's environment decides
// otherwise.
type coreShare struct {
	mu      sync.Mutex
	settled bool // nothing changes any more
	halved  bool
}

func newCoreShare() *coreShare { return &coreShare{settled: os.Getenv("GOMAXPROCS") != ""} }

// admit takes note of a store that has been opened.
func (c *coreShare) admit(d Dispatch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.settled:
	case d == DispatchApart:
		c.settled = true
		if c.halved {
			runtime.SetDefaultGOMAXPROCS()
		}
	case !c.halved:
		c.halved = true
		runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/2))
	}
}
