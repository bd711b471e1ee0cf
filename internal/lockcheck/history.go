package lockcheck

import (
	"fmt"
	"math"
	"time"
)

// An End is how an acquisition ended.
type End string

const (
	Released End = "released" // and the backend said so
	Lost     End = "lost"     // the holder was told, by its context or by its release
	Failed   End = "failed"   // the release failed, and may have been made all the same
	Died     End = "died"     // its process did
)

// An Acquisition is one participant's stay inside one lock. Times are on the
// boot clock; 0 is never.
type Acquisition struct {
	Process, Goroutine int
	Key                string
	Fence              uint64 // 0: the strategy has none

	Asked    time.Duration // the participant came
	Tried    time.Duration // it began the attempt that won
	Acquired time.Duration // it had the lock
	Deadline time.Duration // until when it believed to have it, at last; 0: it was not told
	Told     time.Duration // it heard that it has lost the lock
	Left     time.Duration // its block was over, and the release called
	Released time.Duration // the release returned, or the process was dead
	End      End
}

// A History is what all participants saw, in any order.
type History []Acquisition

const forever = time.Duration(math.MaxInt64)

// until is the end of the time in which nobody else may be inside: the call of
// release or the holder's own deadline, whichever comes first.
func (a Acquisition) until() time.Duration {
	until := forever
	for _, end := range []time.Duration{a.Deadline, a.Left} {
		if end != 0 {
			until = min(until, end)
		}
	}
	if until == forever && a.End == Died {
		return a.Released
	}
	return until
}

// knew is when the holder knew that it holds nothing any more.
func (a Acquisition) knew() time.Duration {
	if a.Told != 0 {
		return min(a.Told, a.until())
	}
	return a.until()
}

// started is before the backend granted the lock.
func (a Acquisition) started() time.Duration {
	if a.Tried != 0 {
		return a.Tried
	}
	return a.Asked
}

func (a Acquisition) who() string {
	if a.Fence == 0 {
		return fmt.Sprintf("process %d goroutine %d", a.Process, a.Goroutine)
	}
	return fmt.Sprintf("process %d goroutine %d (fence %d)", a.Process, a.Goroutine, a.Fence)
}

// story says what the holder saw and when.
func (a Acquisition) story() string {
	story := fmt.Sprintf("%s asked at %s and was inside from %s", a.who(), at(a.Asked), at(a.Acquired))
	for _, moment := range []struct {
		what string
		at   time.Duration
	}{
		{"was told of the loss", a.Told}, {"left", a.Left}, {"believed until", a.Deadline},
	} {
		if moment.at != 0 {
			story += fmt.Sprintf(", %s %s", moment.what, at(moment.at))
		}
	}
	return fmt.Sprintf("%s, %s %s", story, a.End, at(a.Released))
}

// at writes a moment so that two of them compare by eye.
func at(t time.Duration) string { return fmt.Sprintf("%.6fs", t.Seconds()) }
