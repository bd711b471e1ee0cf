package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// socketsOf lists the sockets that a process has open.
func socketsOf(t *testing.T, pid string) map[string]bool {
	t.Helper()
	links, err := filepath.Glob("/proc/" + pid + "/fd/*")
	must(t, err)
	sockets := map[string]bool{}
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, "socket:") {
			sockets[target] = true
		}
	}
	return sockets
}

// The two ends of the plane are the host's and the driver's, and nobody else's.
func TestNobodyElseHasTheEndsOfAPlane(t *testing.T) {
	t.Parallel()
	ctx := guarded(t)
	d := newDriver(t, command(t, "driver"))
	r := openStore(t, d, nil)
	if planeOf(r) == nil {
		t.Fatal("there is no plane")
	}
	host, driver := socketsOf(t, "self"), socketsOf(t, strconv.Itoa(d.Status().PID))
	if len(driver) < 2 {
		t.Errorf("the driver has the sockets %v, want the plane's and gRPC's at least", driver)
	}
	for socket := range driver {
		if host[socket] {
			t.Errorf("the host has kept the driver's %s", socket)
		}
	}
	file := filepath.Join(t.TempDir(), "pid")
	must(t, r.Set(ctx, "spawn", []byte(file), 0))
	pid, err := os.ReadFile(file)
	must(t, err)
	if sockets := socketsOf(t, string(pid)); len(sockets) > 0 {
		t.Errorf("a process that the driver started has the sockets %v", sockets)
	}
	// Nor has another driver's process any of them.
	other := newDriver(t, command(t, "driver"))
	openStore(t, other, nil)
	for socket := range socketsOf(t, strconv.Itoa(other.Status().PID)) {
		if host[socket] || driver[socket] {
			t.Errorf("another driver has inherited %s", socket)
		}
	}
}

// TestAnIdleHostAndItsDriversUseNoTime runs by itself, since it counts what the
// whole process takes. The soak test is a longer one.
func TestAnIdleHostAndItsDriversUseNoTime(t *testing.T) { checkIdle(t, 2*time.Second) }

func checkIdle(t *testing.T, long time.Duration) {
	ctx := guarded(t)
	pids := []string{"self"}
	for _, transport := range []Transport{TransportAuto, TransportAuto, TransportGRPC} {
		spec := command(t, "driver")
		spec.Transport = transport
		d := newDriver(t, spec)
		r := openStore(t, d, nil)
		for i := range 1000 { // they have worked before
			must(t, r.Set(ctx, fmt.Sprint(i), make([]byte, 1000), 0))
		}
		pids = append(pids, strconv.Itoa(d.Status().PID))
	}
	time.Sleep(200 * time.Millisecond) // garbage collections may go on for a moment
	before := make([]int, len(pids))
	for i, pid := range pids {
		before[i] = ticksOf(t, pid)
	}
	time.Sleep(long)
	const allowed = 5 // of 10 ms, for the runtime and what the tests leave
	for i, pid := range pids {
		if used := ticksOf(t, pid) - before[i]; used > allowed {
			t.Errorf("process %s used %d ticks in %v of idleness", pid, used, long)
		}
	}
}

// ticksOf is the processor time that a process has used, in hundredths of a
// second.
func ticksOf(t *testing.T, pid string) int {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	must(t, err)
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after) // the third field of the file first
	user, err := strconv.Atoi(fields[11])
	must(t, err)
	system, err := strconv.Atoi(fields[12])
	must(t, err)
	return user + system
}
