//go:build unix

package host

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hosts are applications of their own, for tests that change what belongs to a
// whole process, or end one. They report in a line on stdout and live until
// their stdin ends.
var hosts = map[string]func(){
	"host": func() {
		if umask, err := strconv.ParseInt(os.Getenv("HOST_TEST_UMASK"), 8, 32); err == nil {
			syscall.Umask(int(umask))
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		self, err := os.Executable()
		exitOn(err)
		d := New(Spec{Name: "testmem", Command: []string{self}, Env: map[string]string{roleKey: "driver"}})
		r, err := d.Open(ctx, "s", nil)
		exitOn(err)
		exitOn(r.Set(ctx, "k", []byte("v"), 0))
		folders, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), folderPrefix+"*"))
		for _, folder := range folders {
			if info, err := os.Lstat(folder); err == nil {
				fmt.Printf("%v ", info.Mode())
			}
		}
		fmt.Println(d.Status().PID)
		io.Copy(io.Discard, os.Stdin)
		exitOn(d.Close(ctx))
		os.Exit(0)
	},
	"host without built-ins": func() {
		_, err := New(Spec{Name: "memory", Builtin: true}).Describe(context.Background())
		fmt.Println(err)
		os.Exit(0)
	},
}

// A hostProcess is a running host.
type hostProcess struct {
	*exec.Cmd
	stdin  io.Closer
	report string // the line on its stdout
}

func startHost(t *testing.T, role string, env ...string) *hostProcess {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), roleKey+"="+role), env...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the host printed %q and then: %v", line, err)
	}
	return &hostProcess{cmd, stdin, strings.TrimSpace(line)}
}

// driverPID is the last word of the report.
func (h *hostProcess) driverPID(t *testing.T) int {
	t.Helper()
	words := strings.Fields(h.report)
	pid, err := strconv.Atoi(words[len(words)-1])
	must(t, err)
	return pid
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil && !isZombie(pid) }

// signal reaches one process and never a group: a driver that has none has the
// number 0.
func signal(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if pid < 2 {
		t.Fatalf("no process has the number %d", pid)
	}
	must(t, syscall.Kill(pid, s))
}

// isZombie reports whether a process has ended and waits for its parent, which
// after its host's death may be nobody who cares.
func isZombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z")
}

// eventually waits for a condition, and gives up only to end a hang.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hangGuard); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

const hangGuard = 30 * time.Second

func TestADriverEndsWithItsHost(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(pid int){
		"a living one": func(int) {},
		"a frozen one": func(pid int) { signal(t, pid, syscall.SIGSTOP) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "a frozen one" && !killedWithParent {
				t.Skip("this system does not end a frozen child with its parent")
			}
			host := startHost(t, "host")
			pid := host.driverPID(t)
			if !alive(pid) {
				t.Fatal("the driver does not run")
			}
			before(pid)
			must(t, host.Process.Kill())
			host.Wait()
			eventually(t, "the driver is gone", func() bool { return !alive(pid) })
		})
	}
}

func TestTheFolderIsPrivateUnderAnyUmaskAndRemoved(t *testing.T) {
	t.Parallel()
	for _, umask := range []string{"0", "022", "077", "0177"} {
		t.Run(umask, func(t *testing.T) {
			t.Parallel()
			base := shortTempDir(t)
			host := startHost(t, "host", "HOST_TEST_UMASK="+umask, "XDG_RUNTIME_DIR="+base)
			if !strings.HasPrefix(host.report, "drwx------ ") || strings.Count(host.report, " ") != 1 {
				t.Errorf("folders and pid: %s", host.report)
			}
			host.stdin.Close()
			if err := host.Wait(); err != nil {
				t.Error("the host did not close its driver:", err)
			}
			if left := entries(t, base); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			eventually(t, "the driver is gone", func() bool { return !alive(host.driverPID(t)) })
		})
	}
}

func entries(t testing.TB, folder string) []string {
	t.Helper()
	list, err := os.ReadDir(folder)
	must(t, err)
	var names []string
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return names
}

func TestAHostMayItselfBeAPlugin(t *testing.T) {
	t.Parallel()
	id, err := newIdentity()
	must(t, err)
	host := startHost(t, "host", "PLUGIN_CLIENT_CERT="+id.pem, "PLUGIN_UNIX_SOCKET_DIR=/nonexistent",
		"PLUGIN_PROTOCOL_VERSIONS=77", "PLUGIN_MULTIPLEX_GRPC=true")
	if !alive(host.driverPID(t)) {
		t.Error("the driver does not run")
	}
}

func TestAProgramWithoutBuiltInsNamesTheImport(t *testing.T) {
	t.Parallel()
	host := startHost(t, "host without built-ins")
	if !strings.Contains(host.report, `import _ "github.com/cachewright/cachewright/drivers/builtin"`) {
		t.Errorf("the error is %q", host.report)
	}
}

func TestWhatADeadHostLeavesIsSweptByTheNext(t *testing.T) {
	t.Parallel()
	base := shortTempDir(t)
	dead := startHost(t, "host", "XDG_RUNTIME_DIR="+base)
	must(t, dead.Process.Kill())
	dead.Wait()
	eventually(t, "the driver is gone", func() bool { return !alive(dead.driverPID(t)) })
	if left := entries(t, base); len(left) != 1 {
		t.Fatalf("the dead host left %q", left)
	}
	next := startHost(t, "host", "XDG_RUNTIME_DIR="+base)
	next.stdin.Close()
	if err := next.Wait(); err != nil {
		t.Error(err)
	}
	if left := entries(t, base); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
