package lockcheck

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

// stay is a holder of a lease of 100 ms that was inside from and to, in ms.
func stay(fence uint64, from, to int) Acquisition {
	a := Acquisition{
		Process: int(fence % 3), Goroutine: int(fence % 5), Key: "k", Fence: fence, End: Released,
		Asked: time.Duration(from-5) * ms, Tried: time.Duration(from-1) * ms, Acquired: time.Duration(from) * ms,
		Left: time.Duration(to) * ms, Released: time.Duration(to)*ms + ms/2,
	}
	a.Deadline = a.Tried + 100*ms
	return a
}

func (a Acquisition) with(change func(*Acquisition)) Acquisition {
	change(&a)
	return a
}

func TestHistories(t *testing.T) {
	t.Parallel()
	killed := func(a *Acquisition) { a.Left, a.Released, a.End = 0, a.Acquired+2*ms, Died }
	frozen := func(a *Acquisition) { a.Told, a.Left, a.Released, a.End = 600*ms, 601*ms, 602*ms, Lost }
	for _, test := range []struct {
		name  string
		h     History
		rules Rules
		want  []Kind // nil: nothing is wrong
	}{
		{"one after the other", History{stay(1, 10, 20), stay(3, 21, 30), stay(9, 31, 40)}, Rules{}, nil},
		{"in any order of the history", History{stay(9, 31, 40), stay(1, 10, 20), stay(3, 21, 30)}, Rules{}, nil},
		{"two inside", History{stay(1, 10, 20), stay(2, 15, 30)}, Rules{}, []Kind{Overlap, NotALock}},
		{"one inside all others", History{stay(1, 10, 90), stay(2, 15, 30), stay(3, 31, 40)}, Rules{}, []Kind{Overlap, Overlap, NotALock}},
		{"two of another lock", History{stay(1, 10, 20), stay(2, 15, 30).with(func(a *Acquisition) { a.Key = "other" })}, Rules{}, nil},
		{"the same fence", History{stay(1, 10, 20), stay(1, 21, 30)}, Rules{}, []Kind{NoFence, NotALock}},
		{"no fence", History{stay(0, 10, 20), stay(0, 21, 30)}, Rules{}, []Kind{NoFence, NotALock}},
		{"falling fences", History{stay(2, 10, 20), stay(1, 30, 40)}, Rules{}, []Kind{Disorder, Disorder, NotALock}},
		{"a killed holder keeps its lease", History{stay(1, 10, 20).with(killed), stay(2, 109, 120)}, Rules{}, nil},
		{"a killed holder's lease is taken", History{stay(1, 10, 20).with(killed), stay(2, 108, 120)}, Rules{}, []Kind{Overlap, NotALock}},
		{"a frozen holder is out at its deadline", History{stay(1, 10, 20).with(frozen), stay(2, 109, 700), stay(3, 701, 702)}, Rules{}, nil},
		{"a frozen holder believes longer than its lease", History{
			stay(1, 10, 20).with(frozen).with(func(a *Acquisition) { a.Deadline += ms }), stay(2, 109, 120),
		}, Rules{}, []Kind{Overlap, NotALock}},
		{"a holder without a deadline stays until it leaves", History{
			stay(1, 10, 300).with(func(a *Acquisition) { a.Deadline = 0 }), stay(2, 200, 210),
		}, Rules{}, []Kind{Overlap, NotALock}},
		{"a failed release may have been one", History{stay(1, 10, 20).with(func(a *Acquisition) { a.End = Failed }), stay(2, 21, 30)}, Rules{}, nil},
		{"a release that takes long", History{stay(1, 10, 20).with(func(a *Acquisition) { a.Released = 60 * ms }), stay(2, 21, 30), stay(3, 31, 40)}, Rules{}, nil},
		{"an answer that takes long", History{
			stay(1, 10, 20).with(func(a *Acquisition) { a.Tried = 5 * ms }), stay(2, 40, 50).with(func(a *Acquisition) { a.Tried = 6 * ms }),
		}, Rules{}, nil},
		{"a lock that was granted twice and entered later", History{
			stay(1, 30, 40).with(func(a *Acquisition) { a.Tried, a.Deadline = 1*ms, 101*ms }), stay(2, 10, 20),
		}, Rules{}, []Kind{Disorder, NotALock}},
		{"a loss excuses until the holder hears of it", History{
			stay(1, 10, 60).with(func(a *Acquisition) { a.Told, a.End = 55*ms, Lost }), stay(2, 30, 58),
		}, Rules{Losses: []Loss{{20 * ms, 25 * ms}}, News: 30 * ms}, nil},
		{"news that come too late", History{
			stay(1, 10, 60).with(func(a *Acquisition) { a.Told, a.End = 56*ms, Lost }), stay(2, 30, 58),
		}, Rules{Losses: []Loss{{20 * ms, 25 * ms}}, News: 30 * ms}, []Kind{LateNews, Overlap}},
		{"no news at all", History{stay(1, 10, 90)}, Rules{Losses: []Loss{{20 * ms, 25 * ms}}, News: 30 * ms}, []Kind{LateNews}},
		{"who left before needs no news", History{stay(1, 10, 19)}, Rules{Losses: []Loss{{20 * ms, 25 * ms}}}, nil},
		{"a loss excuses nobody who came after it", History{
			stay(1, 30, 60), stay(2, 50, 58),
		}, Rules{Losses: []Loss{{20 * ms, 25 * ms}}, News: 90 * ms}, []Kind{Overlap, NotALock}},
		{"nor two that are inside besides the lost one", History{
			stay(1, 10, 90).with(func(a *Acquisition) { a.Told, a.End = 55*ms, Lost }), stay(2, 30, 50), stay(3, 45, 60),
		}, Rules{Losses: []Loss{{20 * ms, 25 * ms}}, News: 30 * ms}, []Kind{Overlap, NotALock}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []Kind
			found := Check(test.h, test.rules)
			for _, v := range found {
				got = append(got, v.Kind)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("found %v, want %v:\n%v", got, test.want, found)
			}
		})
	}
}

func TestAViolationSaysWhoWhenAndByHowMuch(t *testing.T) {
	t.Parallel()
	found := Check(History{stay(1, 10, 20), stay(2, 15, 30)}, Rules{})
	want := `overlap: lock "k": process 2 goroutine 2 (fence 2) entered 5ms before process 1 goroutine 1 (fence 1) was out; ` +
		`process 1 goroutine 1 (fence 1) asked at 0.005000s and was inside from 0.010000s, left 0.020000s, believed until 0.109000s, released 0.020500s; ` +
		`process 2 goroutine 2 (fence 2) asked at 0.010000s and was inside from 0.015000s, left 0.030000s, believed until 0.114000s, released 0.030500s`
	if len(found) == 0 || found[0].String() != want {
		t.Errorf("found %v, want first\n%s", found, want)
	}
}

// A long history of a lock has no violation; one that is planted anywhere is
// found, whatever its kind.
func TestOneViolationInALongHistoryIsFound(t *testing.T) {
	t.Parallel()
	const length = 3000
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	good := make(History, length)
	for i := range good {
		good[i] = stay(uint64(2*i+1), 10*i+10, 10*i+19)
		if random.IntN(50) == 0 {
			good[i].End = Failed
		}
	}
	if found := Check(good, Rules{}); found != nil {
		t.Fatalf("seed %d: %v", seed, found)
	}
	for name, spoil := range map[string]func(a, next *Acquisition){
		"it stays too long":         func(a, next *Acquisition) { a.Left, a.End = next.Acquired+1, Failed },
		"its fence comes again":     func(a, next *Acquisition) { next.Fence = a.Fence },
		"its fence is too high":     func(a, next *Acquisition) { a.Fence = next.Fence + 1 },
		"the next one comes early":  func(a, next *Acquisition) { next.Acquired, next.Tried = a.Left-1, a.Left-2 },
		"it was inside in the past": func(a, _ *Acquisition) { a.Acquired, a.Left, a.Tried, a.Deadline = 11*ms, 12*ms, 11*ms, 111*ms },
	} {
		bad := slices.Clone(good)
		i := 2 + random.IntN(length-3)
		spoil(&bad[i], &bad[i+1])
		culprit := fmt.Sprintf("(fence %d)", bad[i].Fence)
		random.Shuffle(length, func(i, j int) { bad[i], bad[j] = bad[j], bad[i] })
		if found := Check(bad, Rules{}); len(found) == 0 || !strings.Contains(fmt.Sprint(found), culprit) {
			t.Errorf("seed %d: %s: found %v at %d", seed, name, found, i)
		}
	}
}
