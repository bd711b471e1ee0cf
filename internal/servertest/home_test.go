package servertest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// childVariable makes this test binary a victim: it starts servers, names
// their processes and folder, and waits to be killed.
const childVariable = "CACHEWRIGHT_SERVERTEST_VICTIM"

func TestAKilledTestBinaryTakesItsServersWithIt(t *testing.T) {
	if os.Getenv(childVariable) != "" {
		beVictim(t)
	}
	t.Parallel()
	initdb.find(t)
	redisServer.find(t)
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), childVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids, dir := readVictim(t, bufio.NewScanner(out))
	cmd.Process.Kill()
	cmd.Wait()

	limit := time.Now().Add(30 * time.Second)
	for _, pid := range pids {
		for alive(pid) {
			if time.Now().After(limit) {
				t.Fatalf("process %d of %v is still there", pid, pids)
			}
			time.Sleep(poll)
		}
	}
	for exists(dir) {
		if time.Now().After(limit) {
			t.Fatalf("%s is still there", dir)
		}
		time.Sleep(poll)
	}
}

// beVictim has a frozen server with children: the hardest to be rid of.
func beVictim(t *testing.T) {
	postgres, redis := StartPostgres(t, PostgresOptions{}), StartRedis(t, RedisOptions{})
	postgres.Freeze(t)
	for _, pid := range append(children(postgres.PID()), postgres.PID(), redis.PID()) {
		fmt.Println("pid", pid)
	}
	fmt.Println("dir", testHome(t).dir)
	select {}
}

func readVictim(t *testing.T, lines *bufio.Scanner) (pids []int, dir string) {
	t.Helper()
	for dir == "" && lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "pid":
			pid, err := strconv.Atoi(rest)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		case "dir":
			dir = rest
		default:
			t.Log(lines.Text())
		}
	}
	if len(pids) < 4 || !exists(dir) {
		t.Fatalf("the victim names processes %v and the folder %q", pids, dir)
	}
	return pids, dir
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestServersAreGoneWhenTheirTestEnds(t *testing.T) {
	t.Parallel()
	var pids []int
	var dirs []string
	t.Run("a test", func(t *testing.T) {
		postgres := StartPostgres(t, PostgresOptions{})
		servers := []*Server{
			postgres.Server,
			StartPgBouncer(t, postgres, PgBouncerOptions{}).Server,
			StartRedis(t, RedisOptions{}).Server,
			StartMemcached(t, MemcachedOptions{}).Server,
		}
		for _, s := range servers {
			pids = append(append(pids, s.PID()), children(s.PID())...)
			dirs = append(dirs, s.Dir())
		}
	})
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d of %v is still there", pid, pids)
		}
		if exists(testHome(t).pidFile(pid)) {
			t.Errorf("process %d would be killed at the end", pid)
		}
	}
	for _, dir := range dirs {
		if exists(dir) {
			t.Errorf("%s is still there", dir)
		}
	}
}

func TestAKilledPostgresLeavesNoSharedMemory(t *testing.T) {
	t.Parallel()
	var id int
	t.Run("a test", func(t *testing.T) {
		server := StartPostgres(t, PostgresOptions{})
		lines, err := postmasterFile(filepath.Join(server.Dir(), "data"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(lines[6], new(int), &id); err != nil {
			t.Fatal(err)
		}
		server.Kill(t)
	})
	if _, err := unix.SysvShmCtl(id, unix.IPC_STAT, new(unix.SysvShmDesc)); err == nil {
		t.Errorf("segment %d is still there", id)
	}
}

func TestAPortIsNobodyElses(t *testing.T) {
	t.Parallel()
	first := takePort(t, true)
	defer first.release()
	other := &port{number: first.number}
	defer other.release()
	if other.guard(first.number) || other.guard(first.number+busOffset) {
		t.Fatalf("%s was given away twice", first.addr())
	}
}

// A recorder is a testing.TB that keeps how a test ended.
type recorder struct {
	testing.TB
	outcome string
}

func (r *recorder) Helper()                        {}
func (r *recorder) Fatalf(format string, a ...any) { r.end("failed: ", format, a) }
func (r *recorder) Skipf(format string, a ...any)  { r.end("skipped: ", format, a) }

func (r *recorder) end(how, format string, a []any) {
	r.outcome = how + fmt.Sprintf(format, a...)
	panic(r)
}

func TestAMissingProgramSkipsLoudlyOrFails(t *testing.T) {
	missing := program{name: "cachewright-no-such-program", pkg: "the-package", formula: "the-formula"}
	for setting, want := range map[[2]string]string{
		{"", ""}: "skipped: NOT TESTED", {"0", ""}: "skipped: NOT TESTED", {"1", ""}: "failed: ", {"", "1"}: "failed: ",
	} {
		t.Setenv(requireVariable, setting[0])
		t.Setenv("CI", setting[1])
		r := &recorder{TB: t}
		func() {
			defer func() { _ = recover() }()
			missing.find(r)
		}()
		if !strings.HasPrefix(r.outcome, want) || !strings.Contains(r.outcome, "the-package") ||
			!strings.Contains(r.outcome, "the-formula") {
			t.Errorf("with %s=%q and CI=%q: %s", requireVariable, setting[0], setting[1], r.outcome)
		}
	}
}

func TestAServerThatEndsAtOnceIsReportedWithItsLog(t *testing.T) {
	t.Parallel()
	path := redisServer.find(t)
	s := newServer(t, "broken", takePort(t, false))
	s.command = func() *exec.Cmd { return exec.Command(path, "--no-such-option", "1") }
	s.ready = func(int) error { return syscall.ECONNREFUSED }
	r := &recorder{TB: t}
	func() {
		defer func() { _ = recover() }()
		s.Start(r)
	}()
	if !strings.Contains(r.outcome, "ended at once") || !strings.Contains(r.outcome, "no-such-option") {
		t.Errorf("reported as %q", r.outcome)
	}
}
