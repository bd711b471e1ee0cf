package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"golang.org/x/sys/unix"
)

// Tests that need several processes run this test binary again in a role.
const roleVariable = "CACHEWRIGHT_FILE_TEST_ROLE"

// A role gets a store's directory and returns what it has to report.
type role func(ctx context.Context, s *store) (report any, err error)

var roles = map[string]role{
	"count":     countAndAdd,
	"overwrite": overwriteUntilKilled,
	"die":       dieWhileWriting,
	"hold":      holdUntilKilled,
	"appear":    setOneOnCold,
}

func init() {
	name, dir, ok := strings.Cut(os.Getenv(roleVariable), " ")
	if !ok {
		return
	}
	report, err := play(roles[name], dir)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(report)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func play(r role, dir string) (any, error) {
	if r == nil {
		return nil, errors.New("there is no such role")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s, err := open(ctx, options{Path: dir, Sync: "none", DirMode: "0700", FileMode: "0600"})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return r(ctx, s)
}

// actor starts a process that plays a role on dir.
func actor(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	executable, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), executable)
	cmd.Env = append(os.Environ(), roleVariable+"="+name+" "+dir)
	cmd.Stderr = new(bytes.Buffer)
	return cmd
}

// begin starts an actor; the function that it returns waits for the report.
func begin[R any](t *testing.T, cmd *exec.Cmd) (outcome func() R) {
	t.Helper()
	out := new(bytes.Buffer)
	cmd.Stdout = out
	must(t, cmd.Start())
	return func() (report R) {
		if err := cmd.Wait(); err != nil {
			t.Errorf("the process failed: %v: %s", err, cmd.Stderr)
		} else if err := json.Unmarshal(out.Bytes(), &report); err != nil {
			t.Errorf("the process reported %q: %v", out, err)
		}
		return report
	}
}

const (
	processes = 8
	steps     = 1000
)

// countAndAdd increments one key a thousand times, and tries a thousand keys.
func countAndAdd(ctx context.Context, s *store) (any, error) {
	won := 0
	for i := range steps {
		if _, err := s.Increment(ctx, "hits", 1, sdk.NoExpiry); err != nil {
			return nil, err
		}
		added, err := s.Add(ctx, fmt.Sprint("prize:", i), fmt.Append(nil, os.Getpid()), sdk.NoExpiry)
		if err != nil {
			return nil, err
		}
		if added {
			won++
		}
	}
	return won, nil
}

// S48: file locks coordinate processes for one operation.
func TestEightProcessesLoseNoIncrementAndAddOnce(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	var outcomes []func() int
	for range processes {
		outcomes = append(outcomes, begin[int](t, actor(t, "count", s.set.root)))
	}
	total := 0
	for _, outcome := range outcomes {
		total += outcome()
	}
	holds(t, s, "hits", fmt.Sprint(processes*steps))
	if total != steps {
		t.Errorf("%d adds won over %d keys", total, steps)
	}
}

// setOneOnCold starts at the same moment as its like, in a directory that
// isn't there.
func setOneOnCold(ctx context.Context, s *store) (any, error) {
	if _, err := io.ReadAll(os.Stdin); err != nil {
		return nil, err
	}
	key := fmt.Sprint("from:", os.Getpid())
	if err := s.Set(ctx, key, []byte(key), sdk.NoExpiry); err != nil {
		return nil, err
	}
	return key, s.Set(ctx, "shared", []byte(key), sdk.NoExpiry)
}

func TestProcessesThatCreateAColdStoreAtOnceAllSucceed(t *testing.T) {
	t.Parallel()
	const many = 64
	s := openTest(t, at(t.TempDir()+"/not/there/yet"))
	start, release, err := os.Pipe()
	must(t, err)
	var outcomes []func() string
	for range many {
		cmd := actor(t, "appear", s.set.root)
		cmd.Stdin = start
		outcomes = append(outcomes, begin[string](t, cmd))
	}
	must(t, start.Close())
	must(t, release.Close())
	for _, outcome := range outcomes {
		key := outcome()
		holds(t, s, key, key)
	}
}

const bigValue = 4 << 20

// overwriteUntilKilled stores one big value after the other.
func overwriteUntilKilled(ctx context.Context, s *store) (any, error) {
	for i := 0; ; i++ {
		if err := s.Set(ctx, "big", bytes.Repeat([]byte{byte(i)}, bigValue), sdk.NoExpiry); err != nil {
			return nil, err
		}
		fmt.Println(i)
	}
}

func TestAWriterKilledAtAnyMomentLeavesAWholeValue(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	for round := range 12 {
		killAfter(t, actor(t, "overwrite", s.set.root), 1, time.Duration(round)*700*time.Microsecond)
		value, ok, err := s.Get(t.Context(), "big")
		must(t, err)
		if !ok || len(value) != bigValue || !bytes.Equal(value, bytes.Repeat(value[:1], bigValue)) {
			t.Fatalf("round %d left %d bytes of more than one write", round, len(value))
		}
		set(t, s, "big", "mine", sdk.NoExpiry) // nobody is blocked
		holds(t, s, "big", "mine")
	}
	sweepNow(t, s)
	if left := files(t, s); len(left) != 1 {
		t.Errorf("after a sweep there is %v", left)
	}
}

// killAfter starts the actor, lets it report some lines and run on for delay,
// and kills it.
func killAfter(t *testing.T, cmd *exec.Cmd, lines int, delay time.Duration) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	awaitLines(t, out, lines)
	time.Sleep(delay) // any moment will do
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
}

func awaitLines(t *testing.T, r io.Reader, lines int) {
	t.Helper()
	one := make([]byte, 1)
	for lines > 0 {
		if _, err := r.Read(one); err != nil {
			t.Fatalf("the process said nothing more: %v", err)
		}
		if one[0] == '\n' {
			lines--
		}
	}
}

// dieWhileWriting is killed with the lock held and half a value written.
func dieWhileWriting(ctx context.Context, s *store) (any, error) {
	n, _ := place("key")
	l, err := s.entries.lock(ctx, n, creating)
	if err != nil {
		return nil, err
	}
	fd, err := createAt(l.fd, tempHead+"half", unix.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if err := writeAll(fd, entryBytes("key", 0, []byte("value"))[:20]); err != nil {
		return nil, err
	}
	return nil, unix.Kill(os.Getpid(), unix.SIGKILL)
}

// S48: a process that dies in the middle of an operation blocks nobody.
func TestAProcessKilledInTheMiddleBlocksNobody(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	set(t, s, "key", "old", sdk.NoExpiry)
	cmd := actor(t, "die", s.set.root)
	if err := cmd.Run(); err == nil || cmd.ProcessState.Sys().(interface{ Signaled() bool }).Signaled() == false {
		t.Fatalf("the process was not killed: %v: %s", err, cmd.Stderr)
	}
	holds(t, s, "key", "old")
	if left := files(t, s); len(left) != 2 {
		t.Fatalf("the killed process should have left a file aside: %v", left)
	}
	_, err := s.Increment(t.Context(), "key", 1, 0)
	fails(t, err, sdk.ErrNotInteger)
	set(t, s, "key", "new", sdk.NoExpiry)
	holds(t, s, "key", "new")
	sweepNow(t, s)
	if left := files(t, s); len(left) != 1 {
		t.Errorf("after a sweep there is %v", left)
	}
}

// holdUntilKilled holds the lock of a key's folder.
func holdUntilKilled(ctx context.Context, s *store) (any, error) {
	n, _ := place("key")
	if _, err := s.entries.lock(ctx, n, creating); err != nil {
		return nil, err
	}
	fmt.Println("held")
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestWaitingForAnotherProcessEndsWithTheContext(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	set(t, s, "key", "value", sdk.NoExpiry)
	holder := actor(t, "hold", s.set.root)
	out, err := holder.StdoutPipe()
	must(t, err)
	must(t, holder.Start())
	awaitLines(t, out, 1)

	expiring, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	fails(t, s.Set(expiring, "key", nil, 0), context.DeadlineExceeded)
	queued, cancelQueued := context.WithCancel(t.Context())
	waiting := make(chan error, 2)
	for range 2 { // one polls the lock, one waits behind it in this process
		go func() { _, err := s.Delete(queued, "key"); waiting <- err }()
	}
	cancelQueued()
	fails(t, <-waiting, context.Canceled)
	fails(t, <-waiting, context.Canceled)
	holds(t, s, "key", "value") // readers ask for no lock

	must(t, holder.Process.Kill())
	_ = holder.Wait()
	set(t, s, "key", "after", sdk.NoExpiry)
}
