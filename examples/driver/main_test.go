package main

import (
	"testing"

	"github.com/cachewright/cachewright/sdk/drivertest"
)

func TestConformance(t *testing.T) {
	drivertest.Run(t, Driver, func(t testing.TB) map[string]any {
		return map[string]any{"room": 100}
	})
}
