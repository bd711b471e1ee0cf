package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

const (
	// pings is how often a store is asked; the fastest answer counts.
	pings = 3
	// slowShare of a store's timeout is too much for one ping.
	slowShare = 10
	// probeTTL bounds the life of what --write leaves if it is cut off.
	probeTTL = time.Minute
)

// configuration looks at the files: who else may change them, and secrets.
func (d *diagnosis) configuration(stores int) {
	files := d.files()
	d.add(levelOK, "configuration", fmt.Sprintf("%s, from %s", counted(stores, "store"), strings.Join(files, ", ")))
	for _, file := range files {
		info, err := os.Stat(file)
		switch {
		case err != nil:
			d.add(levelWarn, "configuration", brief(err))
		case info.Mode().Perm()&0o002 != 0:
			d.add(levelWarn, "configuration", fmt.Sprintf("everybody on this machine may change %s, and with it which programs are started: chmod o-w %s", file, file))
		}
		if err == nil && info.Mode().Perm()&0o004 != 0 {
			d.plainSecrets(file)
		}
	}
}

// files are those that values come from.
func (d *diagnosis) files() []string {
	var files []string
	seen := map[string]bool{}
	for _, s := range d.settings {
		if file, _, ok := place(s.From); ok && !seen[file] {
			seen[file] = true
			files = append(files, file)
		}
	}
	return files
}

// place splits FILE:LINE.
func place(from string) (file string, line int, ok bool) {
	i := strings.LastIndexByte(from, ':')
	if i < 0 {
		return "", 0, false
	}
	line, err := strconv.Atoi(from[i+1:])
	return from[:i], line, err == nil
}

// plainSecrets warns of secrets that stand in a file that everybody may read.
func (d *diagnosis) plainSecrets(path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		return // it was read a moment ago, and is no fault of the configuration
	}
	lines := strings.Split(string(data), "\n")
	for _, s := range d.settings {
		file, line, ok := place(s.From)
		if s.Secret && ok && file == path && line >= 1 && line <= len(lines) && !strings.Contains(lines[line-1], "${") {
			d.add(levelWarn, "configuration", fmt.Sprintf("%s: %s stands in a file that everybody on this machine may read: chmod o-r %s, or write ${file:PATH}", s.From, s.Key, path))
		}
	}
}

// drivers looks at those that were started, and at those that are down.
func (d *diagnosis) drivers(rows []driverRow, down map[string]error) {
	for _, row := range rows {
		subject := "driver " + row.Name
		if err := down[row.Name]; err != nil {
			d.failed(err, subject, d.keysBelow("drivers."+row.Name+".")...)
			continue
		}
		d.add(levelOK, subject, fmt.Sprintf("version %s, protocol %d, pid %d", row.Described.Version, row.Described.Protocol, row.PID))
		if row.Restarts > 0 {
			d.add(levelWarn, subject, fmt.Sprintf("restarted %d times: %s", row.Restarts, row.Error))
		}
		if row.Run == "command" {
			d.pin(subject, row.Name)
		}
	}
}

// pin tells whether a driver that is a program is held to its digest. One that
// is pinned and another would not have started.
func (d *diagnosis) pin(subject, driver string) {
	if _, pinned := d.setting("drivers." + driver + ".sha256"); pinned {
		d.add(levelOK, subject, "pinned by sha256")
		return
	}
	command, _ := d.setting("drivers." + driver + ".command")
	advice := "the digest that sha256sum prints"
	if digest, err := digestOf(firstWord(command.Value)); err == nil {
		advice = digest
	}
	d.add(levelWarn, subject, fmt.Sprintf("not pinned, so that whatever is in the program's place is started; sha256: {%s/%s: %s}", runtime.GOOS, runtime.GOARCH, advice))
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

func digestOf(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// store pings a store and passes on what its driver reports.
func (d *diagnosis) store(ctx context.Context, m *cache.CacheManager, info cache.StoreInfo, write bool) {
	subject := "store " + info.Name
	found, err := m.Store(info.Name)
	if err != nil {
		d.failed(err, subject)
		return
	}
	r := found.(*cache.CacheRepository)
	latency, err := reach(ctx, r)
	if err != nil {
		d.failed(err, subject, d.keysBelow("stores."+info.Name+".")...)
		return
	}
	d.add(levelOK, subject, fmt.Sprintf("answers in %v", latency.Round(time.Microsecond)))
	if latency > info.Timeout/slowShare {
		d.add(levelWarn, subject, fmt.Sprintf("that is slow for a timeout of %v", info.Timeout))
	}
	switch locks, err := r.LockInfo(ctx); {
	case err == nil:
		d.add(levelOK, subject, fmt.Sprintf("locks by %s, scope %s", locks.Strategy, dash(locks.Scope)))
	case errors.Is(err, cache.ErrInvalidConfig):
		d.failed(err, subject)
	}
	stats, err := r.Stats(ctx)
	d.failed(err, subject)
	for _, s := range stats {
		d.stat(subject, s)
	}
	d.folder(subject, info)
	if write {
		d.probe(ctx, r, subject)
	}
}

// reach opens a store and measures its fastest answer.
func reach(ctx context.Context, r *cache.CacheRepository) (fastest time.Duration, err error) {
	if _, err := r.Capabilities(ctx); err != nil {
		return 0, err
	}
	for i := range pings {
		start := time.Now()
		if err := r.Ping(ctx); err != nil {
			return 0, err
		}
		if took := time.Since(start); i == 0 || took < fastest {
			fastest = took
		}
	}
	return fastest, nil
}

func (d *diagnosis) stat(subject string, s cache.Stat) {
	if s.Warning != "" {
		d.add(levelWarn, subject, s.Name+" "+s.Value+": "+s.Warning)
		return
	}
	d.add(levelOK, subject, s.Name+" "+s.Value)
}

// probe stores, reads and removes an entry.
func (d *diagnosis) probe(ctx context.Context, r *cache.CacheRepository, subject string) {
	key, want := "cachewright:doctor:"+rand.Text(), rand.Text()
	r = r.WithCodec(cache.Raw)
	err := r.Set(ctx, key, want, probeTTL)
	if err == nil {
		var v cache.Value
		v, err = r.Get(ctx, key)
		if err == nil && string(v.Bytes()) != want {
			err = errors.New("an entry that was stored a moment ago is not there: the store drops entries, or something else writes to it")
		}
		_, removed := r.Delete(ctx, key)
		err = errors.Join(err, removed)
	}
	if err != nil {
		d.failed(fmt.Errorf("the test entry: %w", err), subject)
		return
	}
	d.add(levelOK, subject, "stored, read and removed an entry")
}

func (d *diagnosis) setting(key string) (cache.Setting, bool) {
	for _, s := range d.settings {
		if s.Key == key {
			return s, true
		}
	}
	return cache.Setting{}, false
}

// keysBelow are the settings that somebody wrote about a subject that fails.
func (d *diagnosis) keysBelow(prefix string) []string {
	var keys []string
	for _, s := range d.settings {
		if !strings.HasPrefix(s.Key, prefix) || s.From == "default" {
			continue
		}
		value := s.Value
		if s.Hidden {
			value = "(hidden)"
		}
		keys = append(keys, fmt.Sprintf("%s = %s, from %s", s.Key, value, s.From))
	}
	return keys
}
