package lockcheck

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Rules are what a history has to keep. The zero Rules suit a backend that
// keeps its records.
type Rules struct {
	// Losses are when the backend lost its records. Only then may a second
	// holder be inside, until the first one hears of it.
	Losses []Loss
	// News is how long that may take, from the end of the loss.
	News time.Duration
}

// A Loss is a time in which a backend lost its records.
type Loss struct{ From, To time.Duration }

// A Kind is a rule that was broken.
type Kind string

const (
	Overlap   Kind = "overlap"   // two were inside at once
	Disorder  Kind = "disorder"  // the fence of an earlier holder is the higher one
	NoFence   Kind = "no fence"  // a holder has none, or another's
	LateNews  Kind = "late news" // a holder heard too late of its loss
	NotALock  Kind = "not a lock"
	Undecided Kind = "undecided" // the model checker gave up
)

// A Violation is a broken rule.
type Violation struct {
	Kind          Kind
	Key           string
	First, Second Acquisition
	By            time.Duration
	text          string
}

func (v Violation) String() string { return fmt.Sprintf("%s: lock %q: %s", v.Kind, v.Key, v.text) }

// Check returns what breaks the rules: in a sweep over the holders of every
// lock in the order of their fences, and against the model of a lock that is
// acquired and released, 2,000 operations at a time.
func Check(h History, r Rules) []Violation {
	var found []Violation
	holders := byKey(h)
	for _, key := range slices.Sorted(maps.Keys(holders)) {
		found = append(found, r.sweep(holders[key])...)
		found = append(found, r.model(holders[key])...)
	}
	return found
}

// byKey sorts the holders of every lock by fence; those without one, or with
// the same, by time.
func byKey(h History) map[string]History {
	holders := make(map[string]History)
	for _, a := range h {
		holders[a.Key] = append(holders[a.Key], a)
	}
	for _, sorted := range holders {
		slices.SortFunc(sorted, func(a, b Acquisition) int {
			return cmp.Or(cmp.Compare(a.Fence, b.Fence), cmp.Compare(a.Acquired, b.Acquired))
		})
	}
	return holders
}

// sweep looks at each holder once, and at those before it that are not out yet:
// usually none.
func (r Rules) sweep(sorted History) (found []Violation) {
	var inside []Acquisition
	var latest Acquisition // to try, of all with lower fences
	for i, a := range sorted {
		if i > 0 {
			found = append(found, fences(sorted[i-1], a, latest)...)
		}
		inside = slices.DeleteFunc(inside, func(first Acquisition) bool { return first.until() <= a.Acquired })
		for _, first := range inside {
			found = append(found, r.together(first, a)...)
		}
		found = append(found, r.news(a)...)
		inside = append(inside, a)
		if a.started() > latest.started() {
			latest = a
		}
	}
	return found
}

// fences checks the order of the fences against that of time.
func fences(before, a, latest Acquisition) (found []Violation) {
	if a.Fence == before.Fence {
		found = append(found, violation(NoFence, before, a, 0, "%s and %s have the same fencing token", before.who(), a.who()))
	}
	if by := latest.started() - a.Acquired; by > 0 {
		found = append(found, violation(Disorder, a, latest, by,
			"%s was inside %v before one with a lower token tried; %s; %s", a.who(), by, a.story(), latest.story()))
	}
	return found
}

// together is for a holder that was not out when the next one was in.
func (r Rules) together(first, second Acquisition) []Violation {
	by := first.until() - second.Acquired
	if r.excuse(first, second) {
		return nil
	}
	kind, what := Overlap, "entered"
	if second.until() <= first.Acquired {
		kind, what = Disorder, "was inside before one with a lower token: it entered"
	}
	return []Violation{violation(kind, first, second, by,
		"%s %s %v before %s was out; %s; %s", second.who(), what, by, first.who(), first.story(), second.story())}
}

// excuse finds the loss that let the second in beside the first.
func (r Rules) excuse(first, second Acquisition) bool {
	return slices.ContainsFunc(r.Losses, func(l Loss) bool {
		return first.started() <= l.To && l.From <= second.Acquired && first.knew() <= l.To+r.News
	})
}

// news checks that a holder whose record was lost heard of it.
func (r Rules) news(a Acquisition) (found []Violation) {
	for _, l := range r.Losses {
		late := a.knew() - (l.To + r.News)
		if a.Acquired < l.From && a.until() > l.From && late > 0 && a.End != Died {
			found = append(found, violation(LateNews, a, a, late,
				"%s heard %v too late of the loss between %s and %s; %s", a.who(), late, at(l.From), at(l.To), a.story()))
		}
	}
	return found
}

func violation(kind Kind, first, second Acquisition, by time.Duration, format string, args ...any) Violation {
	return Violation{kind, first.Key, first, second, by, fmt.Sprintf(format, args...)}
}
