package main

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// A progress shows how far long work is. A nil one shows nothing.
type progress struct{ bar *progressbar.ProgressBar }

// unknown is the total of work whose size nobody knows.
const unknown = -1

const (
	// barWidth is that of the bar alone, on a terminal that has the room.
	barWidth = 30
	// besides is what stands around it, such as counts and times.
	besides = 50
	// narrowest is the terminal that still has room for counts without a bar. On
	// less, each change would begin a line of its own.
	narrowest = 40
)

// progress begins a line on stderr, if that is a terminal. Work that prints to
// the terminal as it goes shows its progress by that, and no work has none.
func (a *app) progress(what string, total int, prints bool) *progress {
	columns := columnsOf(a.stderr)
	if columns < narrowest || a.debug || total == 0 || prints && isTerminal(a.stdout) {
		return nil
	}
	options := []progressbar.Option{
		progressbar.OptionSetWriter(a.stderr),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(max(1, min(barWidth, columns-besides))),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetRenderBlankState(true),
	}
	return &progress{progressbar.NewOptions(total, options...)}
}

// add notes that n more are done.
func (p *progress) add(n int) {
	if p != nil {
		_ = p.bar.Add(n) // what can't be shown is not missed
	}
}

// aside takes the line away until more is done, for something that has to be
// said meanwhile.
func (p *progress) aside() {
	if p != nil {
		_ = p.bar.Clear()
	}
}

// end takes the line away. What is said about the work comes after it.
func (p *progress) end() {
	if p != nil {
		_ = p.bar.Finish()
	}
}
