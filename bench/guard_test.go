package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/cachewright/cachewright/bench/internal/client"
	"github.com/cachewright/cachewright/bench/internal/contest"
	"github.com/cachewright/cachewright/bench/internal/floor"
	"github.com/cachewright/cachewright/bench/internal/unary"
	cache "github.com/cachewright/cachewright/core"
)

// TestMain lets the test binary be a plugin, too; a driver it is already.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if play := roles[os.Args[1]]; play != nil {
			if err := play(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
	os.Exit(m.Run())
}

// The margins are wide, since a test shares its machine and may run under the
// race detector: they fail when the fast plane is not taken, or has become slow
// altogether. What is kept more closely is "make bench-check".
func TestTheFastPlaneIsFaster(t *testing.T) {
	data := client.NewData("guard", 100, 100)
	var readers []contest.Contender
	for _, who := range []struct {
		key    string
		client client.Client
	}{
		{"fast", memoryStore(t, "auto")},
		{"grpc", memoryStore(t, "grpc")},
		{"unary", plainPlugin(t)},
	} {
		if err := data.Seed(t.Context(), who.client); err != nil {
			t.Fatal(err)
		}
		readers = append(readers, client.Get(who.key, who.key, who.client, data))
	}
	results, err := contest.Run(t.Context(), []contest.Contest{
		{Key: "1", Callers: 1, Contenders: readers},
		{Key: "64", Callers: 64, Contenders: readers},
	}, contest.Plan{Rounds: 5, Turn: 100 * time.Millisecond}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	verdicts, err := floor.Judge([]floor.Floor{
		{Work: "one caller's latency", Contest: "1", Of: "fast", Against: "grpc", Measure: floor.Quicker, Bound: 1.3},
		{Work: "64 callers' throughput", Contest: "64", Of: "fast", Against: "grpc", Measure: floor.Throughput, Bound: 2},
		{Work: "64 callers' throughput, plain", Contest: "64", Of: "fast", Against: "unary", Measure: floor.Throughput, Bound: 2},
	}, results)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verdicts {
		t.Logf("%s against %s: %.2f", v.Work, v.Against, v.Ratio)
		if !v.Kept() {
			t.Errorf("%s against %s: %.2f, want %s", v.Work, v.Against, v.Ratio, v.Limit())
		}
	}
}

// memoryStore opens a memory store whose driver is reached by a transport.
func memoryStore(t *testing.T, transport string) client.Store {
	t.Helper()
	manager, err := cache.OpenConfig(t.Context(), cache.Config{
		Default: "memory", Prefix: "app",
		Drivers: map[string]cache.DriverConfig{"memory": {Transport: transport}},
		Stores:  map[string]cache.StoreConfig{"memory": {Driver: "memory", Codec: "raw"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := manager.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	repository, err := manager.Store("")
	if err != nil {
		t.Fatal(err)
	}
	return client.Store{ICacheRepository: repository}
}

func plainPlugin(t *testing.T) *unary.Client {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := unary.Start(program, []string{"unary-plugin"}, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plain.Close)
	return plain
}
