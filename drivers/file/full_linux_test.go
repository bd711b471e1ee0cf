package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
	"golang.org/x/sys/unix"
)

func init() {
	roles["full-disk"] = onMount("size=1m", fillDisk)
	roles["full-of-files"] = onMount("size=1m,nr_inodes=40", fillInodes)
	roles["read-only"] = onMount("size=1m", remountReadOnly)
	roles["limit"] = limitFileSize
}

// notPermitted is how a role says that this machine doesn't let it.
const notPermitted = "not permitted: "

// Complaints are what a role found wrong.
type complaints []string

func (c *complaints) add(format string, args ...any) { *c = append(*c, fmt.Sprintf(format, args...)) }

// refused notes if err isn't the target, or doesn't say the word.
func (c *complaints) refused(what string, err, target error, word string) {
	if !errors.Is(err, target) || !strings.Contains(err.Error(), word) {
		c.add("%s: %v, want %q with %q", what, err, target, word)
	}
}

func (c *complaints) holds(ctx context.Context, s *store, key string, want []byte) {
	if value, ok, err := s.Get(ctx, key); err != nil || !ok || !bytes.Equal(value, want) {
		c.add("%s holds %d bytes (there: %v), want %d: %v", key, len(value), ok, len(want), err)
	}
}

func (c *complaints) noLeftovers(s *store) {
	if left, _ := filepath.Glob(s.entries.path + "/*/" + tempHead + "*"); len(left) > 0 {
		c.add("left behind: %v", left)
	}
}

// onMount plays a role with a small file system of its own under the store.
func onMount(data string, play func(context.Context, *store, *complaints)) role {
	return func(ctx context.Context, s *store) (any, error) {
		var c complaints
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			c.add("%smake mounts private: %v", notPermitted, err)
		} else if err := unix.Mount("none", s.set.root, "tmpfs", 0, data); err != nil {
			c.add("%smount a tmpfs: %v", notPermitted, err)
		} else {
			play(ctx, s, &c)
		}
		return c, nil
	}
}

// inNamespace starts an actor that may mount without anybody's seeing it.
func inNamespace(t *testing.T, name string) *exec.Cmd {
	cmd := actor(t, name, t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: gid, Size: 1}}
	}
	return cmd
}

func TestOnASmallFileSystem(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"full-disk", "full-of-files", "read-only"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := inNamespace(t, name)
			out, err := cmd.Output()
			if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EINVAL) {
				servertest.NotTested(t, "there is no namespace for mounts: %v", err)
			}
			if err != nil {
				t.Fatalf("the process failed: %v: %s", err, cmd.Stderr)
			}
			if strings.Contains(string(out), notPermitted) {
				servertest.NotTested(t, "%s", out)
			}
			report(t, out)
		})
	}
}

func report(t *testing.T, out []byte) {
	t.Helper()
	if text := strings.TrimSpace(string(out)); text != "null" {
		t.Errorf("it went wrong: %s", text)
	}
}

func fillDisk(ctx context.Context, s *store, c *complaints) {
	old, big := bytes.Repeat([]byte("o"), 100<<10), make([]byte, 2<<20)
	if err := s.Set(ctx, "key", old, 0); err != nil {
		c.add("nothing can be stored: %v", err)
	}
	c.refused("set", s.Set(ctx, "key", big, 0), sdk.ErrUnavailable, "no space left on device; free some space")
	_, err := s.Replace(ctx, "key", big, 0)
	c.refused("replace", err, sdk.ErrUnavailable, "no space left")
	_, err = s.Add(ctx, "new", big, 0)
	c.refused("add", err, sdk.ErrUnavailable, "no space left")
	c.holds(ctx, s, "key", old)
	c.noLeftovers(s)
	fill(ctx, s, c, make([]byte, 8<<10))
	c.holds(ctx, s, "key", old)
	c.noLeftovers(s)
	if ok, err := s.Delete(ctx, "key"); !ok || err != nil {
		c.add("delete on a full disk: %v, %v", ok, err)
	}
	if err := s.Set(ctx, "key", []byte("small again"), 0); err != nil {
		c.add("set after a delete made space: %v", err)
	}
}

func fillInodes(ctx context.Context, s *store, c *complaints) {
	if err := s.Set(ctx, "key", []byte("old"), 0); err != nil {
		c.add("nothing can be stored: %v", err)
	}
	fill(ctx, s, c, []byte("small"))
	c.refused("set", s.Set(ctx, "key", []byte("new"), 0), sdk.ErrUnavailable, "no space left")
	c.holds(ctx, s, "key", []byte("old"))
	c.noLeftovers(s)
}

// fill stores until there is no more space.
func fill(ctx context.Context, s *store, c *complaints, value []byte) {
	for i := range 1000 {
		if err := s.Set(ctx, fmt.Sprint("filler:", i), value, 0); err != nil {
			c.refused("fill", err, sdk.ErrUnavailable, "no space left")
			return
		}
	}
	c.add("the disk never got full")
}

func remountReadOnly(ctx context.Context, s *store, c *complaints) {
	_ = s.Set(ctx, "key", []byte("old"), 0)
	_ = s.Set(ctx, "short", nil, 0)
	_ = os.WriteFile(fileOf(s, "short"), entryBytes("short", 1, []byte("lived")), 0o600)
	if err := unix.Mount("none", s.set.root, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		c.add("remount: %v", err)
	}
	c.holds(ctx, s, "key", []byte("old"))
	if _, ok, err := s.Get(ctx, "short"); ok || err != nil {
		c.add("the expired entry is there: %v, %v", ok, err)
	}
	c.refused("set", s.Set(ctx, "key", nil, 0), sdk.ErrUnavailable, "read-only file system")
	_, err := s.Delete(ctx, "key")
	c.refused("delete", err, sdk.ErrUnavailable, "read-only file system")
	w := &sweeper{entries: s.entries}
	c.refused("sweep", w.round(ctx), sdk.ErrUnavailable, "read-only file system")
	if keys, _, err := s.Keys(ctx, "", nil, 0); len(keys) != 1 || err != nil {
		c.add("the keys are %v: %v", keys, err)
	}
}

// A write that ends half-way for want of space, without a file system of one's
// own: the process may write no file beyond a size.
func TestAValueBeyondTheProcessLimitLeavesTheOldOne(t *testing.T) {
	t.Parallel()
	cmd := actor(t, "limit", t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the process failed: %v: %s", err, cmd.Stderr)
	}
	report(t, out)
}

func limitFileSize(ctx context.Context, s *store) (any, error) {
	var c complaints
	if err := s.Set(ctx, "key", []byte("old"), 0); err != nil {
		return nil, err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}); err != nil {
		return nil, err
	}
	c.refused("set", s.Set(ctx, "key", make([]byte, 3<<20), 0), sdk.ErrTooLarge, "ulimit -f")
	c.holds(ctx, s, "key", []byte("old"))
	c.noLeftovers(s)
	return c, s.Set(ctx, "key", make([]byte, 1<<19), 0)
}
