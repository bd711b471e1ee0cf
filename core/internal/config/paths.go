package config

import (
	"os"
	"path/filepath"
)

// folders are where relative paths start, both absolute and fixed when the
// configuration is read.
type folders struct {
	file    string // for what the file says
	working string // for what a variable or a program says
}

func newFolders() folders {
	working, err := os.Getwd()
	if err != nil { // it is gone; what needs it will say so
		working = ""
	}
	return folders{working, working}
}

// absolute makes a path absolute that came from a position.
func (f folders) absolute(path string, from Position) string {
	switch {
	case filepath.IsAbs(path):
		return path
	case from.Variable != "":
		return filepath.Join(f.working, path)
	}
	return filepath.Join(f.file, path)
}
