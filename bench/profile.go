package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"github.com/cachewright/cachewright/internal/builtin"
	"github.com/cachewright/cachewright/sdk"
)

// A driver's process ends without coming back to main, so whoever wants its
// profile tells it when to write it: by a file of this name beside it.
const enough = "enough"

const look = 50 * time.Millisecond

// serveProfiled is a built-in driver that writes a CPU profile.
func serveProfiled(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: bench driver NAME PROFILE")
	}
	driver, ok := builtin.Lookup(args[0])
	if !ok {
		return fmt.Errorf("there is no driver %s", args[0])
	}
	stop, err := profile(args[1])
	if err != nil {
		return err
	}
	go func() {
		for exists(filepath.Join(filepath.Dir(args[1]), enough)) != nil {
			time.Sleep(look)
		}
		if err := stop(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}()
	sdk.Serve(driver)
	return nil
}

func exists(path string) error {
	_, err := os.Stat(path)
	return err
}

// profileAll profiles this process until stop is called, which has the drivers
// write their profiles too and waits for them.
func profileAll(dir string) (stop func() error, err error) {
	stopOwn, err := profile(filepath.Join(dir, "host.pprof"))
	if err != nil {
		return nil, err
	}
	return func() error {
		err := errors.Join(stopOwn(), os.WriteFile(filepath.Join(dir, enough), nil, 0o644))
		for limit := time.Now().Add(10 * time.Second); err == nil && !written(dir); time.Sleep(look) {
			if time.Now().After(limit) {
				err = errors.New("a driver has not written its profile")
			}
		}
		return err
	}, nil
}

// written says whether no profile is empty any more.
func written(dir string) bool {
	paths, _ := filepath.Glob(filepath.Join(dir, "*.pprof"))
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			return false
		}
	}
	return true
}

// profile writes a CPU profile into the file until stop is called.
func profile(path string) (stop func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}
