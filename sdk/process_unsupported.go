//go:build !unix

package sdk

import (
	"errors"
	"os"
	"runtime"
)

func takeProcess(string) (stdout *os.File, err error) {
	return nil, errors.New("drivers do not run on " + runtime.GOOS)
}

func endGroup() {}
