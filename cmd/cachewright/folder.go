package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	cache "github.com/cachewright/cachewright/core"
	"golang.org/x/sys/unix"
)

// folder looks at whether the first write can make the directory of a store of
// files; of one that is there, the driver reports.
func (d *diagnosis) folder(subject string, info cache.StoreInfo) {
	path, _ := d.setting("stores." + info.Name + ".path")
	if info.Driver != "file" || path.Value == "" {
		return
	}
	if err := creatable(path.Value); err != nil {
		d.failed(err, subject, d.keysBelow("stores."+info.Name+".")...)
	}
}

// creatable is nil for a directory that is there, and for one whose nearest
// parent that is there may be written to. It makes nothing.
func creatable(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return nil // there, or in a way that the driver reports
	}
	for parent := filepath.Dir(dir); ; parent = filepath.Dir(parent) {
		_, err := os.Stat(parent)
		switch {
		case errors.Is(err, fs.ErrNotExist) && parent != filepath.Dir(parent):
			continue
		case err != nil:
			return fmt.Errorf("the first write can't make %s: %w", dir, err)
		}
		if err := unix.Access(parent, unix.W_OK|unix.X_OK); err != nil {
			return fmt.Errorf("the first write can't make %s: this user may not write to %s: %w", dir, parent, err)
		}
		return nil
	}
}
