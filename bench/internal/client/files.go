package client

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cachewright/cachewright/bench/internal/contest"
)

// Files is the contender that reads the very files that a file store wrote,
// those below dir that hold values of the size of d's.
func Files(key, title, dir string, d Data) (contest.Contender, error) {
	var paths []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Size() >= int64(len(d.Value)) && info.Size() < int64(2*len(d.Value)) {
			paths = append(paths, path)
		}
		return err
	})
	if err == nil && len(paths) != len(d.Keys) {
		err = errors.New("the file store has not written one file for each entry")
	}
	return contest.Contender{Key: key, Title: title, Call: func(_ context.Context, n int) error {
		text, err := os.ReadFile(paths[n%len(paths)])
		if err == nil && len(text) < len(d.Value) {
			err = errMissing
		}
		return err
	}}, err
}
