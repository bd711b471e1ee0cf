package memory_test

import (
	"testing"

	"github.com/cachewright/cachewright/drivers/memory"
	"github.com/cachewright/cachewright/sdk/drivertest"
)

func byBytes(testing.TB) map[string]any   { return nil }
func byEntries(testing.TB) map[string]any { return map[string]any{"max_entries": 100_000} }

func TestConformance(t *testing.T) { drivertest.Run(t, memory.Driver, byBytes) }

func TestConformanceInFakeTime(t *testing.T) { drivertest.RunInBubble(t, memory.Driver, byEntries) }

func BenchmarkStore(b *testing.B) { drivertest.Bench(b, memory.Driver, byBytes) }
