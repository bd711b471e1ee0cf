//go:build soak

package database_test

import "testing"

func TestSoak64CallersAreAtLeastAsFastAsAPool(t *testing.T) {
	for _, d := range duels(t) {
		ratio, perSecond := d.fight(t, 64, 100_000)
		t.Logf("%s, 64 callers: %.0f/s, a pgx pool %.0f/s; the median of the ratios is %.2f", d.name, perSecond[0], perSecond[1], ratio)
		if ratio < 1 {
			t.Errorf("%s is slower than a pgx pool", d.name)
		}
	}
}
