package memcached

import (
	"fmt"
	"slices"
	"testing"
)

func ringOf(names ...string) ring {
	var r ring
	for _, name := range names {
		r = append(r, newNode(newServer(settings{}, address{"tcp", name})))
	}
	return r
}

func fleet(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("10.0.0.%d:11211", i+1))
	}
	return names
}

const manyKeys = 100_000

func keyOf(i int) string { return fmt.Sprintf("app:user:%d", i) }

func TestAFifthServerTakesAFifthOfTheKeysAndMovesNoOther(t *testing.T) {
	t.Parallel()
	four, five := ringOf(fleet(4)...), ringOf(fleet(5)...)
	moved, gained := 0, make(map[string]int)
	for i := range manyKeys {
		before, after := four.of(keyOf(i)).at.name, five.of(keyOf(i)).at.name
		if before == after {
			continue
		}
		moved++
		gained[after]++
	}
	if share := float64(moved) / manyKeys; share < 0.19 || share > 0.21 {
		t.Errorf("%.1f %% of the keys move, want about 20", 100*share)
	}
	if len(gained) != 1 || gained["10.0.0.5:11211"] != moved {
		t.Errorf("keys move to %v, want the fifth server only", gained)
	}
}

func TestServersShareEvenly(t *testing.T) {
	t.Parallel()
	r := ringOf(fleet(5)...)
	shares := make(map[string]int)
	for i := range manyKeys {
		shares[r.of(keyOf(i)).at.name]++
	}
	for _, name := range fleet(5) {
		if share := float64(shares[name]) / manyKeys; share < 0.19 || share > 0.21 {
			t.Errorf("%s has %.1f %% of the keys", name, 100*share)
		}
	}
}

func TestTheOrderOfServersDoesNotMatter(t *testing.T) {
	t.Parallel()
	names := fleet(5)
	one := ringOf(names...)
	slices.Reverse(names)
	other := ringOf(names...)
	for i := range 1000 {
		if one.of(keyOf(i)).at != other.of(keyOf(i)).at {
			t.Fatalf("%s is %s's and %s's", keyOf(i), one.of(keyOf(i)).at.name, other.of(keyOf(i)).at.name)
		}
	}
	if one.space() != other.space() {
		t.Errorf("the spaces are %s and %s", one.space(), other.space())
	}
}

// Hosts of different versions must agree: a change here loses most of every
// cache.
func TestKeysStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	r := ringOf(fleet(5)...)
	var got []string
	for i := range 10 {
		got = append(got, r.of(keyOf(i)).at.name[7:8])
	}
	if want := []string{"1", "3", "2", "2", "3", "5", "2", "1", "2", "5"}; !slices.Equal(got, want) {
		t.Errorf("the keys lie on %v, want %v", got, want)
	}
}
