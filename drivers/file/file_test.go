package file_test

import (
	"testing"

	"github.com/cachewright/cachewright/drivers/file"
	"github.com/cachewright/cachewright/sdk/drivertest"
)

func TestDriver(t *testing.T) {
	drivertest.Run(t, file.Driver, func(t testing.TB) map[string]any {
		return map[string]any{"path": t.TempDir()}
	})
}
