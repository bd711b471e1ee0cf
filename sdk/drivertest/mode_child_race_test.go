//go:build race

package drivertest

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/cachewright/cachewright/sdk"
)

var racyDriver = sdk.Define("racy", "1", func(context.Context, struct{}) (bare, error) {
	var n int
	var both sync.WaitGroup
	both.Go(func() { n++ })
	both.Go(func() { n++ })
	both.Wait()
	return bare{newReference(newDisk())}, nil
})

func TestRaceInAChildIsNoticed(t *testing.T) {
	Child(racyDriver)
	tb := &listener{TB: t, name: t.Name()}
	if _, err := startChild(tb, racyDriver).open(t.Context(), nil); err != nil {
		t.Fatalf("open: %v", err)
	}
	tb.end()
	heard := strings.Join(tb.heard, "\n")
	if !strings.Contains(heard, "exit status 66") || !strings.Contains(heard, "DATA RACE") {
		t.Errorf("the test hears %q; want the race", heard)
	}
}
