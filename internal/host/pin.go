package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// verify checks the SHA-256 of the program at path and returns what to execute
// so that it is the very file that was checked, whatever happens to the path
// meanwhile: the open file itself where the system can execute one, else a copy
// in folder.
func verify(path, pin, folder string) (string, *os.File, error) {
	want, err := hex.DecodeString(pin)
	if err != nil || len(want) != sha256.Size {
		return "", nil, fmt.Errorf("sha256: %q is not the hexadecimal form of a SHA-256", pin)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", nil, explainExec(path, err)
	}
	run, err := verifyFile(file, want, folder)
	if err != nil || run.file != file {
		_ = file.Close() // opened for reading
	}
	return run.path, run.file, err
}

// A runnable is a path and the file that keeps it valid, if any.
type runnable struct {
	path string
	file *os.File
}

func verifyFile(file *os.File, want []byte, folder string) (runnable, error) {
	if path, ok := openFilePath(file); ok && !isScript(file) {
		return runnable{path, file}, checkSum(file, io.Discard, want)
	}
	return copyVerified(file, want, folder)
}

// copyVerified sums what it copies, so that the copy is what was checked.
func copyVerified(file *os.File, want []byte, folder string) (runnable, error) {
	path := filepath.Join(folder, programName)
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return runnable{}, fmt.Errorf("copy the program: %w", err)
	}
	if err := checkSum(file, to, want); err != nil {
		_ = to.Close() // the sum failed already; the folder is removed
		return runnable{}, err
	}
	if err := to.Close(); err != nil {
		return runnable{}, fmt.Errorf("copy the program: %w", err)
	}
	return runnable{path: path}, nil
}

func checkSum(file *os.File, to io.Writer, want []byte) error {
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(sum, to), file); err != nil {
		return fmt.Errorf("sum %s: %w", file.Name(), err)
	}
	if got := sum.Sum(nil); string(got) != string(want) {
		return fmt.Errorf("sha256 of %s is %x, and %x is pinned: it is not the program that was configured; check where it comes from before changing the pin",
			file.Name(), got, want)
	}
	return nil
}

// isScript reports whether the file names an interpreter, which would have to
// open it again.
func isScript(file *os.File) bool {
	var start [2]byte
	n, _ := file.ReadAt(start[:], 0)
	return strings.HasPrefix(string(start[:n]), "#!")
}
