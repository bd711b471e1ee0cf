//go:build !linux

package lock

import "time"

// BootElapsed is the clock of leases: it runs through suspend.
func BootElapsed() time.Duration { return WallElapsed() }
