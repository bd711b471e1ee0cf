package contest

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// A Plan says how much of a run there is.
type Plan struct {
	Rounds int
	Turn   time.Duration // of a contender in a round
}

// Run holds all contests, round by round: each round goes once through all of
// them, and each contest gives every contender one turn, both in an order that
// is drawn anew. What the machine does meanwhile so meets all alike, and what is
// compared was measured within a second or so.
func Run(ctx context.Context, contests []Contest, plan Plan, progress func(round int)) ([]Result, error) {
	results := make([]Result, len(contests))
	rounds := plan.Rounds
	for i, c := range contests {
		results[i] = newResult(c)
		rounds = max(rounds, c.Rounds)
	}
	for round := range rounds {
		progress(round)
		for _, i := range rand.Perm(len(contests)) {
			c := contests[i]
			if round >= orElse(c.Rounds, plan.Rounds) {
				continue
			}
			if err := results[i].round(ctx, c, orElse(c.Turn, plan.Turn)); err != nil {
				return nil, err
			}
		}
	}
	return results, nil
}

// round gives every contender one turn.
func (r *Result) round(ctx context.Context, c Contest, long time.Duration) error {
	for _, i := range rand.Perm(len(c.Contenders)) {
		turn, err := c.turn(ctx, c.Contenders[i], long)
		if err != nil {
			return err
		}
		r.Scores[i].Turns = append(r.Scores[i].Turns, turn)
	}
	return nil
}

func orElse[T comparable](own, general T) T {
	var none T
	if own != none {
		return own
	}
	return general
}

// A Result is what came out of a contest.
type Result struct {
	Contest Contest
	Scores  []Score // of its contenders
}

func newResult(c Contest) Result {
	r := Result{Contest: c, Scores: make([]Score, len(c.Contenders))}
	for i, contender := range c.Contenders {
		r.Scores[i].Contender = contender
	}
	return r
}

// Score returns a contender's, nil if there is none of that key.
func (r Result) Score(key string) *Score {
	i := slices.IndexFunc(r.Scores, func(s Score) bool { return s.Contender.Key == key })
	if i < 0 {
		return nil
	}
	return &r.Scores[i]
}
