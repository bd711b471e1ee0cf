package main

import (
	"testing"

	"github.com/cachewright/cachewright/bench/internal/client"
	"github.com/cachewright/cachewright/bench/internal/contest"
)

// The host allocates the physical key, the context with the store's timeout, and
// what is read; that a driver is at the other end of a socket adds nothing.
func TestACallOnTheFastPlaneAllocatesThreeTimes(t *testing.T) {
	store := memoryStore(t, "auto")
	data := client.NewData("allocations", 10, 100)
	if err := data.Seed(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	for _, work := range []contest.Contender{
		client.Get("Get", "", store, data),
		client.Set("Set", "", store, data),
		store.Increment("Increment", ""),
		store.Remember("Remember", "", data),
	} {
		n := 0
		got := testing.AllocsPerRun(500, func() {
			n++
			if err := work.Call(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		})
		if got != 3 {
			t.Errorf("%s allocates %v times, want 3", work.Key, got)
		}
	}
}
