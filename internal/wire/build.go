package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

// BuildID names the running program: what it was built from, and the size and
// time of the file that it runs from. Two processes of one file have the same.
// A host compares it with that of a built-in driver, which a replaced file
// would betray.
func BuildID() string { return buildID() }

var buildID = sync.OnceValue(func() string {
	hash := sha256.New()
	if info, ok := debug.ReadBuildInfo(); ok {
		fmt.Fprintln(hash, info)
	}
	if file, err := os.Stat(imagePath()); err == nil {
		fmt.Fprintln(hash, file.Size(), file.ModTime().UnixNano())
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
})

// imagePath leads to the file that is running, on Linux even after its name has
// gone to another.
func imagePath() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	path, _ := os.Executable()
	return path
}
