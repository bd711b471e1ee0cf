package config

import (
	"slices"
	"strings"
)

// didYouMean is the end of a sentence about a word that isn't one of known: the
// nearest of them, or all of them where none is near.
func didYouMean(word string, known []string) string {
	if near := nearest(word, known); near != "" {
		return "; did you mean " + near + "?"
	}
	if len(known) == 0 {
		return ""
	}
	return "; there are " + strings.Join(known, ", ")
}

// nearest finds the known word that a typo was meant to be, "" for none. A
// third of a word may be wrong; a long enough beginning counts as near.
func nearest(word string, known []string) string {
	word = strings.ToLower(word)
	best, near := "", max(1, len(word)/3)+1
	if len(word) > maxKey {
		return ""
	}
	for _, candidate := range known {
		if d := distance(word, strings.ToLower(candidate)); d < min(near, len(word)) {
			best, near = candidate, d
		}
	}
	if best != "" {
		return best
	}
	i := slices.IndexFunc(known, func(c string) bool {
		c = strings.ToLower(c)
		return len(word) >= 3 && strings.HasPrefix(c, word) || len(c) >= 3 && strings.HasPrefix(word, c)
	})
	if i < 0 {
		return ""
	}
	return known[i]
}

// distance counts the bytes to insert, delete, replace or swap with their
// neighbour to make b of a.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(replace, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
