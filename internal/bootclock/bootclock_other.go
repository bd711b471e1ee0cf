//go:build !linux

package bootclock

import "time"

// Now is Wall: a time since this process started.
func Now() time.Duration { return Wall() }
