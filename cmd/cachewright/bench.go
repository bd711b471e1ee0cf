package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"text/tabwriter"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/lockcheck"
	"github.com/spf13/cobra"
)

const (
	// benchGrace is how much longer than its time a run may take.
	benchGrace = 2 * time.Minute
	// shownViolations is how many are printed in full.
	shownViolations = 5

	benchWorker = "lock-worker"
)

func (a *app) bench() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure and check a store",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usagef("say what to measure; usage: cachewright bench locks")
		},
	}
	cmd.AddCommand(a.benchLocks(), a.benchLockWorker())
	for _, sub := range cmd.Commands() {
		sub.Args = usageArgs(sub.Args)
	}
	return cmd
}

// benchFlags are the flags of bench locks.
type benchFlags struct {
	processes, goroutines, acquisitions int
	lease, limit                        time.Duration
}

func (a *app) benchLocks() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "locks",
		Short: "Let processes contend for an exclusive lock, and check that it is one",
		Long: "Let processes of this program, with several goroutines each, contend for one exclusive lock of the store, and check\n" +
			"what they saw: nobody was inside while another was, and fencing tokens rose from holder to holder. Nothing but that\n" +
			"lock is touched. The exit code is 3 if it is not kept.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			key := "bench:locks:" + rand.Text()
			if err := a.on(cmd.Context(), func(r *cache.CacheRepository) error { return f.try(cmd, r, key) }); err != nil {
				return err
			}
			result, err := f.run(a, key).Do(cmd.Context())
			if err != nil {
				return err
			}
			return a.judge(f, result)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.processes, "processes", 3, "processes that contend; 1 where a lock reaches no further")
	flags.IntVar(&f.goroutines, "goroutines", 4, "goroutines of each process")
	flags.IntVar(&f.acquisitions, "acquisitions", 1000, "how many are enough")
	flags.DurationVar(&f.lease, "lease", 5*time.Second, "lease of the lock")
	flags.DurationVar(&f.limit, "time", time.Minute, "how long is enough, if it is over before")
	return cmd
}

func (f *benchFlags) check(cmd *cobra.Command) error {
	for name, n := range map[string]int{"processes": f.processes, "goroutines": f.goroutines, "acquisitions": f.acquisitions} {
		if n < 1 {
			return usagef("--%s is %d, and has to be 1 at least", name, n)
		}
	}
	if f.limit <= 0 {
		return usagef("--time is %v, and has to be positive", f.limit)
	}
	return nil
}

// try takes the lock once, so that what is wrong with store and lease is said
// here, and not by every process.
func (f *benchFlags) try(cmd *cobra.Command, r *cache.CacheRepository, key string) error {
	announced, err := r.Capabilities(cmd.Context())
	if err != nil {
		return err
	}
	if announced.LockScope == "process" && f.processes > 1 {
		if cmd.Flags().Changed("processes") {
			return usagef("locks of store %s reach one driver process, and every process starts its own; give --processes 1", r.Name())
		}
		f.processes = 1
	}
	lock := r.Lock(key, cache.LockStrategy("exclusive"), cache.LockLease(f.lease), cache.LockWait(0))
	return lock.Do(cmd.Context(), func(context.Context) error { return nil })
}

func (f *benchFlags) run(a *app, key string) lockcheck.Run {
	return lockcheck.Run{
		Worker:    a.lockWorker,
		Processes: f.processes,
		Load: lockcheck.Load{
			Goroutines: f.goroutines,
			Keys:       []string{key},
			Lease:      f.lease,
			Hold:       2 * time.Millisecond,
			Pause:      2 * time.Millisecond,
			GiveUp:     0.1,
			Seed:       uint64(time.Now().UnixNano()),
		},
		Acquisitions: f.acquisitions,
		Time:         f.limit,
		Limit:        f.limit + benchGrace,
	}
}

// lockWorker is this program, as one of the processes that contend.
func (a *app) lockWorker() *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	args := []string{"bench", benchWorker, "--store", a.store}
	for _, file := range a.config {
		args = append(args, "--config", file)
	}
	return exec.Command(self, args...)
}

// benchLockWorker is for bench locks alone.
func (a *app) benchLockWorker() *cobra.Command {
	return &cobra.Command{
		Use:    benchWorker,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.onAll(cmd.Context(), func(m *cache.CacheManager) error {
				return lockcheck.Work(cmd.Context(), m, a.store, a.stdin, a.stdout)
			})
		},
	}
}

// A benchReport is what bench locks says.
type benchReport struct {
	Processes    int            `json:"processes"`
	Goroutines   int            `json:"goroutines"`
	Acquisitions int            `json:"acquisitions"`
	Contended    int            `json:"contended"`
	PerSecond    float64        `json:"acquisitions_per_second"`
	HandOver     benchSpread    `json:"hand_over"`
	Across       benchSpread    `json:"hand_over_to_another_process"`
	Missed       map[string]int `json:"missed"`
	Violations   []string       `json:"violations"`
}

type benchSpread struct {
	Count  int     `json:"count"`
	Median float64 `json:"median_ms"`
	P99    float64 `json:"p99_ms"`
}

func (a *app) judge(f benchFlags, result lockcheck.Result) error {
	s := result.History.Summary()
	report := benchReport{
		Processes: f.processes, Goroutines: f.goroutines,
		Acquisitions: s.Acquisitions, Contended: s.Contended, PerSecond: float64(s.Acquisitions) / result.Took.Seconds(),
		HandOver: spreadOf(s.HandOver), Across: spreadOf(s.Across), Missed: result.Missed, Violations: []string{},
	}
	for _, v := range lockcheck.Check(result.History, lockcheck.Rules{}) {
		report.Violations = append(report.Violations, v.String())
	}
	if err := a.printBench(report); err != nil {
		return err
	}
	switch {
	case len(report.Violations) > 0:
		return fmt.Errorf("the lock is none: %d violations", len(report.Violations))
	case s.Acquisitions == 0:
		return errors.New("nobody got the lock")
	}
	return nil
}

func spreadOf(s lockcheck.Spread) benchSpread {
	return benchSpread{s.N, float64(s.Median.Microseconds()) / 1000, float64(s.P99.Microseconds()) / 1000}
}

func (a *app) printBench(r benchReport) error {
	if a.json {
		return a.printJSON(r)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROCESSES\tGOROUTINES\tACQUISITIONS\tPER SECOND\tCONTENDED\tHAND-OVER (P99)\tTO ANOTHER PROCESS (P99)\tVIOLATIONS")
	fmt.Fprintf(w, "%d\t%d\t%d\t%.0f\t%d\t%s\t%s\t%d\n", r.Processes, r.Goroutines, r.Acquisitions, r.PerSecond, r.Contended, r.HandOver, r.Across, len(r.Violations))
	if err := w.Flush(); err != nil {
		return err
	}
	for _, why := range slices.Sorted(maps.Keys(r.Missed)) {
		fmt.Fprintf(a.stdout, "%d attempts did not enter: %s\n", r.Missed[why], why)
	}
	for _, v := range r.Violations[:min(len(r.Violations), shownViolations)] {
		fmt.Fprintln(a.stderr, v)
	}
	return nil
}

func (s benchSpread) String() string {
	if s.Count == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2fms (%.2fms)", s.Median, s.P99)
}
