package demo

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Summary is what the demonstration caches: a directory tree in figures.
type Summary struct {
	Files   int            `json:"files"`
	Bytes   int64          `json:"bytes"`
	Largest string         `json:"largest"`
	Types   map[string]int `json:"types"` // files by extension

	largest int64
}

// Summarize walks the tree below dir. Folders whose name starts with a dot are
// left out; files that vanish meanwhile are not counted.
func Summarize(ctx context.Context, dir string) (Summary, error) {
	s := Summary{Types: map[string]int{}}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return err
		case err != nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.Type().IsRegular():
			s.count(path, d)
		}
		return nil
	})
	return s, err
}

func (s *Summary) count(path string, d os.DirEntry) {
	info, err := d.Info()
	if err != nil {
		return
	}
	s.Files++
	s.Bytes += info.Size()
	if info.Size() > s.largest || s.Largest == "" {
		s.largest, s.Largest = info.Size(), path
	}
	s.Types[extension(d.Name())]++
}

func extension(name string) string {
	if ext := filepath.Ext(name); ext != "" && ext != name {
		return ext
	}
	return "(none)"
}

// commonest lists the types with the most files, the most first.
func (s Summary) commonest(n int) []string {
	types := make([]string, 0, len(s.Types))
	for t := range s.Types {
		types = append(types, t)
	}
	slices.SortFunc(types, func(a, b string) int {
		if s.Types[a] != s.Types[b] {
			return s.Types[b] - s.Types[a]
		}
		return strings.Compare(a, b)
	})
	return types[:min(n, len(types))]
}
