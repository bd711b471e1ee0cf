//go:build !linux

package family

import (
	"syscall"
	"time"
)

// A Family is this process alone, where nobody tells what others use.
type Family struct{}

// Of finds the family of this process.
func Of() Family { return Family{} }

// CPU is the processor time of this process so far.
func (Family) CPU() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Memory is unknown.
func (Family) Memory() int64 { return 0 }

// Children are unknown.
func (f Family) Children() Family { return f }
