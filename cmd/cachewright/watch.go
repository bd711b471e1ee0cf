package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// A watch is the flag --watch: how often to look again. 0 looks once.
type watch struct{ interval time.Duration }

const (
	watchInterval = 2 * time.Second
	shortestWatch = 100 * time.Millisecond
)

func (w *watch) on() bool { return w.interval > 0 }

func (w *watch) flag(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&w.interval, "watch", 0, "show again every INTERVAL (2s if left out) until interrupted")
	cmd.Flags().Lookup("watch").NoOptDefVal = watchInterval.String()
}

// args takes the interval behind a blank too, as in --watch 5s.
func (w *watch) args(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("watch") && len(args) == 1 {
		interval, err := time.ParseDuration(args[0])
		if err != nil {
			return fmt.Errorf("INTERVAL %q is no duration such as 5s", args[0])
		}
		w.interval, args = interval, nil
	}
	if cmd.Flags().Changed("watch") && w.interval < shortestWatch {
		return fmt.Errorf("INTERVAL %v is too short; the least is %v", w.interval, shortestWatch)
	}
	return cobra.NoArgs(cmd, args)
}

// watch shows again and again until ctx is done, which is how it ends well. On
// a terminal each picture takes the place of the one before.
func (a *app) watch(ctx context.Context, interval time.Duration, show func(ctx context.Context, stdout, stderr io.Writer) error) error {
	again := time.NewTicker(interval)
	defer again.Stop()
	for {
		var picture bytes.Buffer
		if err := show(ctx, painted{&picture, a.stdout}, &picture); err != nil {
			return err
		}
		if ctx.Err() != nil { // what was cut off is no picture
			return nil
		}
		if err := a.showPicture(picture.Bytes(), interval); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}

func (a *app) showPicture(picture []byte, interval time.Duration) error {
	const home, clear = "\x1b[H", "\x1b[2J"
	head, foot := "", ""
	switch {
	case a.json:
	case isTerminal(a.stdout):
		head = clear + home
		foot = fmt.Sprintf("\nevery %v, at %s; Ctrl-C ends\n", interval, time.Now().Format(time.TimeOnly))
	default:
		foot = "\n"
	}
	_, err := fmt.Fprintf(a.stdout, "%s%s%s", head, picture, foot)
	return err
}

// A painted buffer is painted as what it will be shown on.
type painted struct {
	io.Writer
	shown io.Writer
}
