package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/spf13/cobra"
)

const (
	// maxLine is the longest line of an import: a value of 64 MiB in base64.
	maxLine = 96 << 20
	// maxBatch is how many bytes of values are held before they are stored.
	maxBatch = 8 << 20
)

// An importer stores the lines of one source.
type importer struct {
	app            *app
	source         string // as errors name it
	add, replace   bool
	dry            bool
	stored, passed atomic.Int64 // entries that were stored, and that --add or --replace left alone
	batch          []numbered
	size           int
	keys           map[string]bool // of the batch
}

// A numbered entry knows its line.
type numbered struct {
	line int
	entry
}

func (a *app) importing() *cobra.Command {
	im := &importer{app: a}
	cmd := &cobra.Command{
		Use:   "import [FILE|-]",
		Short: "Store the lines of an export, from a file or stdin, and print how many",
		Long: `Store the lines that export printed, from FILE or from stdin, and print how many entries were stored. An entry replaces
what is under its key, and lives from now on for the ttl_ms of its line, or for ever without one.

Lines are stored in batches, in their order. The first line that is no entry ends the import with exit code 2: it is
named, and the lines before it are stored. Entries that the store refuses are named by their lines, the import ends
after their batch, and the exit code is 3. An import may be repeated.`,
		Example: "  cachewright import entries.jsonl\n  cachewright import --add < entries.jsonl",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if im.add && im.replace {
				return usagef("--add and --replace exclude each other; keep one of them")
			}
			in, end, err := im.open(cmd.Context(), args)
			if err != nil {
				return err
			}
			defer end()
			return a.on(cmd.Context(), func(r *cache.CacheRepository) error {
				defer a.remind(cmd.Context(), r)
				return im.run(cmd.Context(), r, in)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&im.add, "add", false, "store only where nothing is")
	flags.BoolVar(&im.replace, "replace", false, "store only over entries that are there")
	flags.BoolVar(&im.dry, "dry-run", false, "read and check the lines, and store nothing")
	return cmd
}

// open finds the source. A terminal as stdin is a command that waits for
// nobody knows what. A pipe that nobody writes to is waited for until ctx is done.
func (im *importer) open(ctx context.Context, args []string) (in io.Reader, end func(), err error) {
	if len(args) == 0 || args[0] == "-" {
		im.source = "stdin"
		if len(args) == 0 && isTerminal(im.app.stdin) {
			return nil, nil, usagef("say what to import: cachewright import FILE, or - to type the lines")
		}
		return im.app.stdin, func() {}, nil
	}
	im.source = args[0]
	f, err := interruptible(ctx, func() (*os.File, error) { return os.Open(args[0]) })
	if ctx.Err() != nil {
		return nil, nil, fmt.Errorf("open %s: %w", args[0], ctx.Err())
	}
	if err != nil {
		return nil, nil, usagef("%w; give a file that cachewright export wrote", err)
	}
	return f, func() { _ = f.Close() }, nil // it was only read
}

func (im *importer) run(ctx context.Context, r *cache.CacheRepository, in io.Reader) error {
	return im.report(im.storeLines(ctx, r, in))
}

func (im *importer) storeLines(ctx context.Context, r *cache.CacheRepository, in io.Reader) error {
	bar := im.app.progress("import", unknown, false)
	defer bar.end()
	lines := bufio.NewReaderSize(in, 64<<10)
	wrong := error(nil)
	for number := 1; wrong == nil; number++ {
		line, err := interruptible(ctx, func() ([]byte, error) { return readLine(lines) })
		if err != nil && err != io.EOF {
			wrong = fmt.Errorf("%s:%d: %w", im.source, number, err)
			break
		}
		if len(bytes.TrimSpace(line)) > 0 {
			e, reason := parseEntry(line)
			if reason != nil {
				wrong = usagef("%s:%d: the line %w", im.source, number, reason)
				break
			}
			if err := im.take(ctx, r, numbered{number, e}); err != nil {
				return err
			}
			bar.add(1)
		}
		if err == io.EOF {
			break
		}
	}
	return errors.Join(wrong, im.flush(ctx, r))
}

// readLine is ReadBytes with a bound.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, usagef("the line is longer than %d bytes", maxLine)
		case err != bufio.ErrBufferFull:
			return line, err
		}
	}
}

// take adds an entry to the batch. One whose key is there already comes after
// it.
func (im *importer) take(ctx context.Context, r *cache.CacheRepository, e numbered) error {
	if len(im.batch) >= chunk || im.size+len(e.data()) > maxBatch || im.keys[e.Key] {
		if err := im.flush(ctx, r); err != nil {
			return err
		}
	}
	if im.keys == nil {
		im.keys = make(map[string]bool, chunk)
	}
	im.keys[e.Key] = true
	im.batch = append(im.batch, e)
	im.size += len(e.data())
	return nil
}

// flush stores the batch.
func (im *importer) flush(ctx context.Context, r *cache.CacheRepository) error {
	batch := im.batch
	im.batch, im.size, im.keys = nil, 0, nil
	if im.dry {
		im.stored.Add(int64(len(batch)))
		return nil
	}
	r = r.WithCodec(cache.Raw)
	if im.add || im.replace {
		return im.storeEach(ctx, r, batch)
	}
	groups := byLifetime(batch)
	return errors.Join(sideBySide(groups, func(_ int, group []numbered) error { return im.storeGroup(ctx, r, group) })...)
}

// byLifetime puts entries of one lifetime together, since one call stores them.
func byLifetime(batch []numbered) [][]numbered {
	var groups [][]numbered
	at := map[time.Duration]int{}
	for _, e := range batch {
		i, known := at[e.ttl()]
		if !known {
			i = len(groups)
			at[e.ttl()] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], e)
	}
	return groups
}

// storeGroup stores entries of one lifetime.
func (im *importer) storeGroup(ctx context.Context, r *cache.CacheRepository, group []numbered) error {
	values := make(map[string]any, len(group))
	for _, e := range group {
		values[e.Key] = e.stored()
	}
	err := r.SetMany(ctx, values, group[0].ttl())
	if isUsage(err) { // nothing was stored, and the error tells no line
		return im.storeEach(ctx, r, group)
	}
	failed, err := perKey(err)
	if err != nil {
		return fmt.Errorf("%s:%d: %w", im.source, group[0].line, err)
	}
	im.stored.Add(int64(len(group) - len(failed)))
	var errs []error
	for _, e := range group {
		if reason := failed[e.Key]; reason != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %q: %w", im.source, e.line, e.Key, reason))
		}
	}
	return errors.Join(errs...)
}

// storeEach stores entries by a call each.
func (im *importer) storeEach(ctx context.Context, r *cache.CacheRepository, batch []numbered) error {
	return errors.Join(sideBySide(batch, func(_ int, e numbered) error {
		stored, err := im.storeOne(ctx, r, e)
		switch {
		case err != nil:
			return fmt.Errorf("%s:%d: %w", im.source, e.line, err)
		case stored:
			im.stored.Add(1)
		default:
			im.passed.Add(1)
		}
		return nil
	})...)
}

func (im *importer) storeOne(ctx context.Context, r *cache.CacheRepository, e numbered) (stored bool, err error) {
	switch {
	case im.add:
		return r.Add(ctx, e.Key, e.stored(), e.ttl())
	case im.replace:
		return r.Replace(ctx, e.Key, e.stored(), e.ttl())
	}
	return true, r.Set(ctx, e.Key, e.stored(), e.ttl())
}

// report prints what was done, whatever came in between.
func (im *importer) report(err error) error {
	stored, passed := im.stored.Load(), im.passed.Load()
	if im.app.json {
		return errors.Join(im.app.printJSON(map[string]int64{"stored": stored, "passed": passed}), err)
	}
	return errors.Join(im.app.print("stored", stored), err)
}
