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
)

// A loader carries one Load from the sources to the Config.
type loader struct {
	report
	opts    Options
	env     environment
	path    string
	folders folders
	order   []string // stores as the file has them

	fromFiles map[string]bool // keys whose values came out of other files
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
	return &loader{fromFiles: make(map[string]bool), opts: opts, folders: newFolders(), env: newEnvironment(processEnviron(opts.Environ))}
}

func processEnviron(environ []string) []string {
	if environ == nil {
		return os.Environ()
	}
	return environ
}

// readFile is false when there is nothing to go on with. Named says what named
// the file, if it wasn't the caller.
func (l *loader) readFile(ctx context.Context, path string, named Position) (layer, bool) {
	l.path = path
	data, err := l.readConfig(ctx, path)
	if err == nil {
		doc, ok := parse(path, data, &l.report)
		l.order = doc.stores
		return doc.layer, ok
	}
	p := Problem{Position: Position{File: path}, Reason: err.Error(), cause: err}
	if named.Variable != "" {
		p.Position, p.Reason = named, path+": "+p.Reason
	}
	if errors.Is(err, fs.ErrNotExist) {
		p.Reason += "; name a configuration here or in $" + ownConfig
	}
	l.add(p)
	return layer{}, false
}

func (l *loader) readConfig(ctx context.Context, path string) ([]byte, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	l.folders.file = filepath.Dir(absolute)
	return readRegular(ctx, path, maxFile)
}

// overlayEnvironment puts the variables over the file and expands what is left
// of the file.
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
