package config

import (
	"os"
	"path/filepath"
	"strings"
)

// folders are where relative paths start, both absolute and fixed when the
// configuration is read.
type folders struct {
	file    string            // of the first file: for what nobody says
	files   map[string]string // by name: for what the file says
	working string            // for what a variable or a program says
}

func newFolders() folders {
	working, err := os.Getwd()
	if err != nil { // it is gone; what needs it will say so
		working = ""
	}
	return folders{file: working, working: working}
}

// add takes a file's folder; the first one's is for defaults too.
func (f *folders) add(file, folder string) {
	if len(f.files) == 0 {
		f.file = folder
	}
	f.files[file] = folder
}

// of is where a relative path starts that came from a position.
func (f folders) of(from Position) string {
	if from.Variable != "" {
		return f.working
	}
	if folder, ok := f.files[from.File]; ok {
		return folder
	}
	return f.file
}

// tilde is what is wrong with ~/cache.
const tilde = "begins with ~, which means the home folder to a shell alone; write ${HOME}/… in a file, or the whole path"

func inHome(path string) bool {
	return path == "~" || strings.HasPrefix(path, "~"+string(filepath.Separator))
}

// absolute makes a path absolute that came from a position.
func (f folders) absolute(path string, from Position) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(f.of(from), path)
}
