package fastplane_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/fastplane"
)

// echo answers a Get with a value that only its key tells.
type echo struct{ manner fastplane.Manner }

func (h echo) Manner(uint64, fastplane.Op) fastplane.Manner { return h.manner }

func (h echo) Handle(ctx context.Context, r *fastplane.Request) (a fastplane.Answer) {
	switch r.Op {
	case fastplane.OpGet:
		a.Say(true)
		a.Value = valueOf(r.Key)
	case fastplane.OpSet:
		a.Say(string(r.Value) == string(valueOf(r.Key)))
	case fastplane.OpTTL: // until the call ends
		<-ctx.Done()
		a.Fail(ctx.Err())
	}
	return a
}

func (h echo) Together(ctx context.Context, rs []*fastplane.Request) []fastplane.Answer {
	answers := make([]fastplane.Answer, len(rs))
	for i, r := range rs {
		answers[i] = h.Handle(ctx, r)
	}
	return answers
}

// valueOf makes a value as long as the key says, of what the key says.
func valueOf(key string) []byte {
	var n int
	fmt.Sscanf(key, "%d", &n)
	return []byte(strings.Repeat(key, n/len(key)+1)[:n])
}

func plane(t testing.TB, h fastplane.Handler) *fastplane.Client {
	t.Helper()
	host, end, err := fastplane.Pair()
	if err != nil {
		t.Fatal(err)
	}
	socket, err := fastplane.Connect(end)
	if err != nil {
		t.Fatal(err)
	}
	s, err := fastplane.NewServer(socket, h)
	if err != nil {
		t.Fatal(err)
	}
	c, err := fastplane.NewClient(host)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		c.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return c
}

func TestEveryCallerGetsItsOwnBytes(t *testing.T) {
	t.Parallel()
	for name, manner := range map[string]fastplane.Manner{
		"inline": fastplane.Inline, "apart": fastplane.Apart, "together": fastplane.Together,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := plane(t, echo{manner})
			var wg sync.WaitGroup
			for caller := range 32 {
				wg.Go(func() {
					random := rand.New(rand.NewPCG(uint64(caller), 1))
					for i := range 100 {
						size := random.IntN(1 << random.IntN(20))
						key := fmt.Sprintf("%d-%d-%d", size, caller, i)
						check(t, c, key)
					}
				})
			}
			wg.Wait()
		})
	}
}

func check(t *testing.T, c *fastplane.Client, key string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	want := valueOf(key)
	r := fastplane.Request{Op: fastplane.OpGet, Store: 1, Key: key}
	a, _, err := c.Call(ctx, &r)
	if err != nil || !a.Yes() || string(a.Value) != string(want) {
		t.Errorf("get %.20s: %v, status %d, %d bytes", key, err, a.Status, len(a.Value))
	}
	r = fastplane.Request{Op: fastplane.OpSet, Store: 1, Key: key, Value: want}
	if a, _, err := c.Call(ctx, &r); err != nil || !a.Yes() {
		t.Errorf("set %.20s: %v, status %d", key, err, a.Status)
	}
}

func BenchmarkGet(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			c := plane(b, echo{fastplane.Inline})
			b.ReportAllocs()
			b.SetParallelism((callers + 1) / 2)
			run := func(next func() bool) {
				for next() {
					r := fastplane.Request{Op: fastplane.OpGet, Store: 1, Key: "100"}
					if a, _, err := c.Call(context.Background(), &r); err != nil || len(a.Value) != 100 {
						b.Fatal(err)
					}
				}
			}
			if callers == 1 {
				run(b.Loop)
				return
			}
			b.RunParallel(func(pb *testing.PB) { run(pb.Next) })
		})
	}
}
