package main

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// A progress shows how far long work is. A nil one shows nothing.
type progress struct{ bar *progressbar.ProgressBar }

// unknown is the total of work whose size nobody knows.
const unknown = -1

// progress begins a line on stderr, if that is a terminal. Work that prints to
// the terminal as it goes shows its progress by that.
func (a *app) progress(what string, total int, prints bool) *progress {
	if !isTerminal(a.stderr) || a.debug || prints && isTerminal(a.stdout) {
		return nil
	}
	options := []progressbar.Option{
		progressbar.OptionSetWriter(a.stderr),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(30),
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

// end takes the line away.
func (p *progress) end() {
	if p != nil {
		_ = p.bar.Finish()
	}
}
