package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// A loader carries one Load from the sources to the Config.
type loader struct {
	report
	opts    Options
	env     environment
	path    string // of the first file
	folders folders
	order   []string // stores as the files have them

	fromFiles map[string]bool   // keys whose values came out of other files
	spellings map[string]string // of values with references, as the file has them
}

func newLoader(opts Options) *loader {
	if opts.Codecs == nil {
		opts.Codecs = []string{DefaultCodec, "raw"}
	}
	if opts.Strategies == nil {
		opts.Strategies = []string{"local", "lease", "redlock", "exclusive"}
	}
	if opts.Platform == "" {
		opts.Platform = runtime.GOOS + "/" + runtime.GOARCH
	}
	return &loader{
		opts: opts, folders: newFolders(), env: newEnvironment(processEnviron(opts.Environ)),
		fromFiles: make(map[string]bool), spellings: make(map[string]string),
	}
}

func processEnviron(environ []string) []string {
	if environ == nil {
		return os.Environ()
	}
	return environ
}

// readFiles reads all files and lays the later over the earlier. It is false
// when there is nothing to go on with. Named says what named the files, if it
// wasn't the caller.
func (l *loader) readFiles(ctx context.Context, paths []string, named Position) (layer, bool) {
	l.path, l.files = paths[0], paths
	l.folders.files = make(map[string]string, len(paths))
	files := make([]layer, 0, len(paths))
	for _, path := range paths {
		if file, ok := l.readFile(ctx, path, named); ok {
			files = append(files, file)
		}
	}
	if len(files) < len(paths) {
		return layer{}, false
	}
	merged, err := merge(files...)
	if err != nil {
		l.at(Position{File: paths[0]}, "", "can't be merged with the other files: %v", err)
	}
	return merged, err == nil
}

func (l *loader) readFile(ctx context.Context, path string, named Position) (layer, bool) {
	if path == "" {
		l.at(named, "", "holds an empty path")
		return layer{}, false
	}
	data, err := l.readConfig(ctx, path)
	if err == nil {
		doc, ok := parse(path, data, &l.report)
		l.addOrder(doc.stores)
		return doc.layer, ok
	}
	p := Problem{Position: Position{File: path}, Reason: err.Error(), cause: err}
	if named.Variable != "" {
		p.Position, p.Reason = named, path+": "+p.Reason
	}
	if errors.Is(err, fs.ErrNotExist) && (path == l.path || named.Variable != "") {
		p.Reason += "; name a configuration here or in $" + ownConfig
	}
	l.add(p)
	return layer{}, false
}

func (l *loader) addOrder(stores []string) {
	for _, name := range stores {
		if !slices.Contains(l.order, name) {
			l.order = append(l.order, name)
		}
	}
}

func (l *loader) readConfig(ctx context.Context, path string) ([]byte, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	l.folders.add(path, filepath.Dir(absolute))
	return readRegular(ctx, path, maxFile)
}

// overlayEnvironment puts the variables over the files and expands what is left
// of the files.
func (l *loader) overlayEnvironment(ctx context.Context, file layer) (layer, error) {
	own := l.env.variables(file, &l.report)
	merged, err := merge(file, l.wellKnown(ctx, file, own), own)
	if err != nil {
		return layer{}, fmt.Errorf("merge the environment into %s: %w", l.path, err)
	}
	l.expand(ctx, merged.origins, "", merged.values)
	return merged, nil
}

// readRegular reads a file of at most limit bytes. It never waits for a writer,
// as a pipe would make it. Its errors don't repeat the path.
func readRegular(ctx context.Context, path string, limit int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, withoutPath(err)
	case info.IsDir():
		return nil, errors.New("is a directory, not a file")
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, withoutPath(err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("is larger than %d bytes", limit)
	}
	return data, nil
}

func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
