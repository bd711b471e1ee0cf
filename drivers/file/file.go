// Package file is the driver that keeps each entry in a file of its own, so
// that a cache needs nothing but a directory and survives restarts.
//
// Under the store's directory lies entries/, and in it 256 folders named 00 to
// ff by a hash of the key. An entry is one file there: a header with the full
// key, the deadline and checksums, then the value. Files are replaced by
// renaming, under a momentary lock of their folder, so any number of processes
// may share a directory: a reader sees a whole value, the old one or the new
// one, and no change is lost.
package file

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

const version = "0.1.0"

// Driver is the file driver.
var Driver = sdk.Define("file", version, open)

type options struct {
	Path          string        `option:"path,required,path" doc:"directory of the store; created by the first write"`
	Sync          string        `option:"sync" default:"none" enum:"none,data" doc:"data: every value reaches the disk before it replaces the old one, so that a power failure leaves a whole entry on any file system; none: leave that to the file system"`
	DirMode       string        `option:"dir_mode" default:"0700" doc:"permissions of directories that the store creates, octal, whatever the umask"`
	FileMode      string        `option:"file_mode" default:"0600" doc:"permissions of files that the store creates, octal, whatever the umask"`
	SweepInterval time.Duration `option:"sweep_interval" default:"1m" doc:"how often expired entries and leftovers of killed writers are removed; 0s: never"`
}

// settings are options as the store uses them.
type settings struct {
	root          string // canonical, see canonical
	syncData      bool
	dirMode       uint32
	fileMode      uint32
	sweepInterval time.Duration // 0: no sweeping
}

// open opens a store. It touches no file: a directory that is missing or can't
// be used is the first call's business.
func open(_ context.Context, o options) (*store, error) {
	set, err := o.settings()
	if err != nil {
		return nil, err
	}
	return newStore(set), nil
}

func (o options) settings() (settings, error) {
	set := settings{syncData: o.Sync == "data", sweepInterval: o.SweepInterval}
	var problems []sdk.Problem
	note := func(key string, err error) {
		if err != nil {
			problems = append(problems, sdk.Problem{Key: key, Reason: err.Error()})
		}
	}
	path, err := filepath.Abs(o.Path)
	note("path", err)
	set.root = canonical(path)
	set.dirMode, err = parseMode(o.DirMode, 0o700, 0o7777)
	note("dir_mode", err)
	set.fileMode, err = parseMode(o.FileMode, 0o600, 0o666)
	note("file_mode", err)
	if o.SweepInterval < 0 {
		note("sweep_interval", fmt.Errorf("must not be negative; 0s turns sweeping off"))
	}
	if len(problems) > 0 {
		return settings{}, &sdk.OptionsError{Problems: problems}
	}
	return set, nil
}

// parseMode reads permissions that hold at least the bits that the owner needs
// and nothing beyond allowed.
func parseMode(text string, needed, allowed uint32) (uint32, error) {
	mode, err := strconv.ParseUint(text, 8, 32)
	if err != nil || uint32(mode)&^allowed != 0 {
		return 0, fmt.Errorf("wants octal permissions within %04o, such as \"%04o\"", allowed, needed)
	}
	if uint32(mode)&needed != needed {
		return 0, fmt.Errorf("must leave the owner %04o, or the store locks itself out", needed)
	}
	return uint32(mode), nil
}

// canonical resolves the symbolic links of an absolute path as far as it
// exists; what does not exist yet, or can't be looked at, stays as it is. Two
// paths to one directory so get one name, before the directory is there.
func canonical(path string) string {
	const maxLinks = 40 // as the kernel's
	done, rest := string(filepath.Separator), splitPath(path)
	for links := 0; len(rest) > 0; {
		next := filepath.Join(done, rest[0])
		rest = rest[1:]
		target, err := os.Readlink(next)
		if err != nil || links == maxLinks {
			done = next
			continue
		}
		links++
		if filepath.IsAbs(target) {
			done = string(filepath.Separator)
		}
		rest = append(splitPath(target), rest...)
	}
	return done
}
