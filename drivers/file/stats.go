package file

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"golang.org/x/sys/unix"
)

// statsTime is how long Stats counts entries before it estimates.
const statsTime = time.Second

// Ping is sdk.Pinger's: reading would work, and a missing directory could be
// created.
func (s *store) Ping(context.Context) error {
	f, err := openPath(s.set.root, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == nil {
		defer unix.Close(f)
		return explain(s.set.root, unix.Faccessat(f, ".", unix.R_OK|unix.X_OK, unix.AT_EACCESS))
	}
	if err != unix.ENOENT {
		return explain(s.set.root, err)
	}
	parent := existingParent(s.set.root)
	return explain(parent, unix.Faccessat(unix.AT_FDCWD, parent, unix.W_OK|unix.X_OK, unix.AT_EACCESS))
}

// existingParent is the nearest directory above a path that is there.
func existingParent(path string) string {
	for path = filepath.Dir(path); path != filepath.Dir(path); path = filepath.Dir(path) {
		if _, err := os.Lstat(path); err == nil {
			break
		}
	}
	return path
}

// Stats is sdk.StatsReporter's.
func (s *store) Stats(ctx context.Context) ([]sdk.Stat, error) {
	stats := []sdk.Stat{{Name: "directory", Value: s.set.root}}
	directory, err := s.directoryStats()
	if err != nil {
		return nil, err
	}
	stats = append(stats, directory...)
	entries, err := s.entryStats(ctx)
	if err != nil {
		return nil, err
	}
	return append(append(stats, entries...), s.sweepStat()), nil
}

// directoryStats are about the directory and the file system it is on.
func (s *store) directoryStats() ([]sdk.Stat, error) {
	fd, err := openPath(s.set.root, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == unix.ENOENT {
		return []sdk.Stat{{Name: "directory.mode", Value: "not there yet; the first write creates it"}}, nil
	}
	if err != nil {
		return nil, explain(s.set.root, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, explain(s.set.root, err)
	}
	var disk unix.Statfs_t
	if err := unix.Fstatfs(fd, &disk); err != nil {
		return nil, explain(s.set.root, err)
	}
	return []sdk.Stat{
		{Name: "directory.mode", Value: fmt.Sprintf("%04o", uint32(st.Mode)&0o7777), Warning: modeWarning(fd, &st)},
		{Name: "disk.free", Value: sdk.Bytes(uint64(disk.Bavail) * uint64(disk.Bsize)).String(), Warning: diskWarning(&disk)},
		{Name: "disk.free_files", Value: strconv.FormatUint(uint64(disk.Ffree), 10)},
	}, nil
}

func modeWarning(fd int, st *unix.Stat_t) string {
	mode, me := uint32(st.Mode), os.Geteuid()
	foreign := st.Uid != uint32(me)
	switch {
	case mode&0o002 != 0:
		return "everybody on this machine may replace entries: chmod o-w the directory"
	case foreign && me == 0:
		return fmt.Sprintf("the directory belongs to uid %d, the driver runs as root: what it creates may be closed to that user", st.Uid)
	case foreign && mode&0o020 == 0:
		return fmt.Sprintf("the directory belongs to uid %d, the driver runs as %d", st.Uid, me)
	case unix.Faccessat(fd, ".", unix.W_OK, unix.AT_EACCESS) != nil:
		return "entries can be read but not written: make the directory writable for the driver"
	}
	return ""
}

func diskWarning(disk *unix.Statfs_t) string {
	if kind := networkFS(disk); kind != "" {
		return "on a network file system (" + kind + "): atomic operations hold between machines only if its file locks do"
	}
	if disk.Blocks > 0 && uint64(disk.Bavail)*20 < uint64(disk.Blocks) {
		return "less than 5 % of the disk is free"
	}
	return ""
}

func (s *store) sweepStat() sdk.Stat {
	stat := sdk.Stat{Name: "sweep.removed", Value: "off"}
	if s.set.sweepInterval > 0 {
		report := s.sweeper.report()
		stat.Value = strconv.Itoa(report.removed)
		if report.err != nil {
			stat.Warning = "sweeping fails: " + report.err.Error()
		}
	}
	return stat
}

// A census counts what lies in folders.
type census struct {
	entries, bytes, expired, unreadable, leftovers int64
}

// entryStats counts the entries, or estimates their number from some folders:
// keys spread over the folders evenly.
func (s *store) entryStats(ctx context.Context) ([]sdk.Stat, error) {
	numbers, err := s.entries.existing()
	if err != nil {
		return nil, explain(s.entries.path, err)
	}
	rand.Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
	var c census
	counted, until := 0, time.Now().Add(statsTime)
	for ; counted < len(numbers) && time.Now().Before(until); counted++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := c.count(s.entries, numbers[counted]); err != nil {
			return nil, explain(s.entries.folderPath(numbers[counted]), err)
		}
	}
	return c.stats(counted, len(numbers)), nil
}

func (c *census) count(t *tree, n byte) error {
	f, err := t.open(n)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.close()
	return f.each(batch, func(names []string) error {
		for _, name := range names {
			c.add(f, name)
		}
		return nil
	})
}

func (c *census) add(f folder, name string) {
	var st unix.Stat_t
	if unix.Fstatat(f.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return
	}
	if !isEntry(name) {
		if isTemp(name) {
			c.leftovers++
		}
		return
	}
	c.bytes += st.Size
	switch it, err := f.head(name); {
	case err == unix.ENOENT:
	case err != nil:
		c.unreadable++
	case it.expired:
		c.expired++
	default:
		c.entries++
	}
}

func (c *census) stats(counted, all int) []sdk.Stat {
	value := func(n int64) string {
		if counted == all || counted == 0 {
			return strconv.FormatInt(n, 10)
		}
		return fmt.Sprintf("about %d (%d of %d folders counted)", n*int64(all)/int64(counted), counted, all)
	}
	unreadable := sdk.Stat{Name: "entries.unreadable", Value: value(c.unreadable)}
	if c.unreadable > 0 {
		unreadable.Warning = "some files are no entries, or damaged: reading them fails until they are set or deleted"
	}
	return []sdk.Stat{
		{Name: "entries", Value: value(c.entries)},
		{Name: "entries.bytes", Value: value(c.bytes)},
		{Name: "entries.expired", Value: value(c.expired)},
		unreadable,
		{Name: "leftovers", Value: value(c.leftovers)},
	}
}
