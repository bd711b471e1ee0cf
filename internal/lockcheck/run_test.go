package lockcheck

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestARunSaysWhatIsWrongWithItsProcesses(t *testing.T) {
	t.Parallel()
	shell := func(script string) func() *exec.Cmd {
		return func() *exec.Cmd { return exec.Command("/bin/sh", "-c", script) }
	}
	for name, test := range map[string]struct {
		run  Run
		says []string
	}{
		"one that ends": {
			Run{Worker: shell("echo no store >&2; exit 3"), Limit: time.Minute},
			[]string{"seed 7", "process 1 ended before its time", "exit status 3", "no store"},
		},
		"one that is not there": {
			Run{Worker: func() *exec.Cmd { return exec.Command("/no/such/program") }, Limit: time.Minute},
			[]string{"seed 7", "start process 1", "/no/such/program"},
		},
		"one that never enters": {
			Run{Worker: shell("cat >/dev/null"), Limit: 100 * time.Millisecond},
			[]string{"seed 7", "after 0 acquisitions", "not over within 100ms"},
		},
		"one that ends instead of staying inside": {
			Run{Worker: shell("read assignment; read command; exit 4"), Faults: []Fault{KillHolder()}, Limit: time.Minute},
			[]string{"kill a holder", "process 1 ended while a holder was to stay inside", "exit status 4"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.run.Processes, test.run.Acquisitions, test.run.Load.Seed = 1, 1, 7
			_, err := test.run.Do(t.Context())
			for _, part := range test.says {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("the error is %v, and does not say %q", err, part)
				}
			}
		})
	}
}

func TestAKilledProcesssStayIsKnownUpToItsDeath(t *testing.T) {
	t.Parallel()
	r := newRecorder()
	const inside = `echo '{"is":"hello","t":1}'
echo '{"is":"entered","g":2,"k":"k","t":5000,"asked":3000,"tried":4000,"until":9000,"fence":7}'
echo '{"is":"kept","g":2,"k":"k","t":6000,"until":11000}'
printf '{"is":"left","g":2'
kill -9 $$`
	w, err := startWorker(exec.Command("/bin/sh", "-c", inside), assignment{Process: 4}, r)
	if err != nil {
		t.Fatal(err)
	}
	<-w.gone
	result, err := r.result()
	if err != nil || len(result.History) != 1 {
		t.Fatalf("%v, %v", result.History, err)
	}
	a := result.History[0]
	if a.Process != 4 || a.Goroutine != 2 || a.Fence != 7 || a.End != Died || a.Left != 0 || a.until() != a.Deadline {
		t.Errorf("%+v", a)
	}
	if oneClock && a.Deadline != 11000 {
		t.Errorf("the deadline of the last renewal is %d", a.Deadline)
	}
}

func TestASummaryTellsHandOversFromFreeLocks(t *testing.T) {
	t.Parallel()
	asked := func(ms int) func(*Acquisition) {
		return func(a *Acquisition) { a.Asked = time.Duration(ms) * time.Millisecond }
	}
	s := History{
		stay(3, 10, 20).with(asked(9)),
		stay(6, 22, 30).with(asked(19)), // waited, in the same process
		stay(7, 33, 40).with(asked(15)), // waited, in another
		stay(8, 50, 60).with(asked(45)), // did not wait
		stay(9, 61, 70).with(asked(55)).with(func(a *Acquisition) { a.End = Lost }),
		stay(10, 75, 80).with(asked(62)), // waited, but nobody released
	}.Summary()
	want := Summary{
		Acquisitions: 6, Contended: 4, Lost: 1,
		Entering: Spread{6, ms, ms}, HandOver: Spread{3, 2 * ms, 3 * ms}, Across: Spread{2, 3 * ms, 3 * ms},
	}
	if s != want {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}
