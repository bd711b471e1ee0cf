//go:build !linux

package host

import "os"

// selfPath is how this executable is executed again. The build id, compared
// after the start, shows if another has taken its place at path.
func selfPath(path string) string { return path }

// openFilePath is a path that executes an open file itself: there is none here.
func openFilePath(*os.File) (string, bool) { return "", false }
