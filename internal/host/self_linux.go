package host

import (
	"fmt"
	"os"
)

// selfPath is how this executable is executed again: as the file that runs,
// even if another has taken its place at path since.
func selfPath(path string) string {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err != nil {
		return path
	}
	return self
}

// openFilePath is a path that executes an open file itself, and whether there
// is one here.
func openFilePath(file *os.File) (string, bool) {
	path := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	_, err := os.Stat(path)
	return path, err == nil
}
