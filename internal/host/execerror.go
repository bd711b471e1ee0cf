package host

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// explainExec says why the program at path can't be executed, and what to do.
func explainExec(path string, err error) error {
	info, statErr := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && statErr != nil:
		return fmt.Errorf("there is no file %s: %w", path, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s exists, but %s does not: %w", path, interpreterOf(path), err)
	case errors.Is(err, fs.ErrPermission) && statErr == nil:
		return fmt.Errorf("%s %s: %w", path, whyForbidden(path, info), err)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%s is %s, and this is %s/%s: %w", path, formatOf(path), runtime.GOOS, runtime.GOARCH, err)
	}
	return err
}

func whyForbidden(path string, info fs.FileInfo) string {
	switch {
	case info.IsDir():
		return "is a folder"
	case info.Mode().Perm()&0o111 == 0:
		return fmt.Sprintf("is not executable (its mode is %s; chmod +x)", info.Mode())
	case onNoexec(path):
		return "lies on a file system that is mounted noexec; put it elsewhere"
	}
	return fmt.Sprintf("may not be executed by this user (its mode is %s)", info.Mode())
}

// interpreterOf names what the program at path needs in order to run: the
// interpreter of a script, or the dynamic loader.
func interpreterOf(path string) string {
	start := startOf(path)
	if rest, ok := bytes.CutPrefix(start, []byte("#!")); ok {
		first, _, _ := bytes.Cut(rest, []byte("\n"))
		return fmt.Sprintf("the interpreter in its first line, %q,", bytes.TrimSpace(first))
	}
	program, err := elf.Open(path)
	if err != nil {
		return "the loader it needs"
	}
	defer program.Close()
	for _, segment := range program.Progs {
		if segment.Type == elf.PT_INTERP && segment.Filesz < 4096 {
			name := make([]byte, segment.Filesz)
			if _, err := segment.ReadAt(name, 0); err == nil {
				return fmt.Sprintf("the loader it needs, %q,", bytes.TrimRight(name, "\x00"))
			}
		}
	}
	return "the loader it needs"
}

// formatOf names the kind of file at path, as far as that explains why it
// isn't a program here.
func formatOf(path string) string {
	start := startOf(path)
	switch {
	case len(start) == 0:
		return "empty"
	case bytes.HasPrefix(start, []byte(elf.ELFMAG)):
		return "an ELF program" + machineOf(path)
	case bytes.HasPrefix(start, []byte("MZ")):
		return "a Windows program"
	case bytes.HasPrefix(start, []byte{0xcf, 0xfa, 0xed, 0xfe}), bytes.HasPrefix(start, []byte{0xca, 0xfe, 0xba, 0xbe}):
		return "a macOS program"
	}
	return "no program (a script needs a first line that names its interpreter)"
}

func machineOf(path string) string {
	program, err := elf.Open(path)
	if err != nil {
		return " that is damaged"
	}
	defer program.Close()
	return " for " + strings.ToLower(strings.TrimPrefix(program.Machine.String(), "EM_"))
}

func startOf(path string) []byte {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	start := make([]byte, 256)
	n, _ := file.Read(start)
	return start[:n]
}
