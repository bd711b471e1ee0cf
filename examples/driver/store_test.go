package main

import (
	"testing"

	"github.com/cachewright/cachewright/sdk/drivertest"
)

func TestConformance(t *testing.T) {
	drivertest.Run(t, Driver, func(testing.TB) map[string]any { return nil })
}
