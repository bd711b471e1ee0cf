package memory_test

import (
	"testing"

	"github.com/cachewright/cachewright/drivers/memory"
	"github.com/cachewright/cachewright/sdk/drivertest"
)

func TestConformance(t *testing.T) {
	drivertest.Run(t, memory.Driver, func(testing.TB) map[string]any { return nil })
}
