package servertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// A home is the folder that holds the folders of all servers of this test
// binary. Its own watchman, a small shell, waits for this process to end, then
// kills what still runs and removes the folder: a test binary that is killed
// or times out, or leaves a server to the end, leaves nothing behind.
type home struct {
	dir      string
	lifeline *os.File // never written to; its end is this process's end
}

// watchman reads the lifeline to its end. The names of the files in pids are
// the processes to end: with an interrupt, which even frees what the system
// keeps for PostgreSQL, and by force after five seconds. What dies may write
// for a moment longer.
const watchman = `
trap '' HUP INT TERM
read -r _
cd "$1/pids" || exit
for pid in *; do kill -INT "$pid"; kill -CONT "$pid"; done
for attempt in 1 2 3 4 5; do
	alive=
	for pid in *; do kill -0 "$pid" && alive=yes; done
	[ "$alive" ] && sleep 1
done
for pid in *; do kill -KILL "$pid"; done
cd /
for attempt in 1 2 3 4 5 6 7 8 9 10; do rm -rf -- "$1" && exit; sleep 1; done
`

var openHome = sync.OnceValues(func() (*home, error) {
	dir, err := os.MkdirTemp("", "cachewright-servers-")
	if err != nil {
		return nil, err
	}
	// Servers that refuse to be root enter as another user.
	if err := os.Chmod(dir, 0o711); err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(dir, "pids"), 0o700); err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	cmd := exec.Command("/bin/sh", "-c", watchman, "sh", dir)
	cmd.Dir = "/"
	cmd.Stdin = read
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt from the terminal isn't for it
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &home{dir: dir, lifeline: write}, nil
})

// testHome returns this test binary's home.
func testHome(t testing.TB) *home {
	t.Helper()
	h, err := openHome()
	if err != nil {
		t.Fatalf("servertest: no folder for servers: %v", err)
	}
	return h
}

// folder makes an empty folder. Its path is short, since that of a unix socket
// in it must not be longer than about 100 bytes.
func (h *home) folder(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp(h.dir, name+"-")
	if err != nil {
		t.Fatalf("servertest: %v", err)
	}
	return dir
}

// watch has the process killed when this one is gone.
func (h *home) watch(pid int) error {
	if err := os.WriteFile(h.pidFile(pid), nil, 0o600); err != nil {
		return fmt.Errorf("watch process %d: %w", pid, err)
	}
	return nil
}

// unwatch is for a process that has ended: its number may be another's soon.
func (h *home) unwatch(pid int) { os.Remove(h.pidFile(pid)) }

func (h *home) pidFile(pid int) string {
	return filepath.Join(h.dir, "pids", strconv.Itoa(pid))
}
