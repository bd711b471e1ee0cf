// Package suite is what is measured: which contests there are, among whom.
//
// It is no cross product of everything. A contest is here because a floor needs
// it, or because somebody who chooses a store would ask for it.
package suite

import (
	"context"
	"errors"
	"regexp"

	"github.com/cachewright/cachewright/bench/internal/client"
	"github.com/cachewright/cachewright/bench/internal/contest"
	"github.com/cachewright/cachewright/bench/internal/pingpong"
	"github.com/cachewright/cachewright/bench/internal/rig"
	"github.com/cachewright/cachewright/bench/internal/unary"
)

// A Section is a group of contests that belong into one table.
type Section struct {
	Title    string
	Text     string // what a reader has to know about the table
	Contests []contest.Contest
}

// Options say how the contenders are started.
type Options struct {
	Program string         // this executable, as which contenders start too
	Profile string         // a folder for the drivers' CPU profiles; "": none
	Only    *regexp.Regexp // the contests' keys; nil: all
	Who     *regexp.Regexp // the contenders' keys; nil: all
}

// A Suite has all contenders running.
type Suite struct {
	Sections []Section

	options Options
	rig     *rig.Rig
	fast    *Plane
	grpc    *Plane
	another *Plane // the fast plane of another host, for locks between two
	plain   *unary.Client
	secure  *unary.Client
	ping    *pingpong.Client
	otter   client.Otter
	tcp     redisClients
	unix    redisClients
	closers []func(context.Context) error
}

// Open starts all contenders on the rig's servers. The suite has to be closed
// also if Open fails.
func Open(ctx context.Context, r *rig.Rig, o Options) (*Suite, error) {
	s := &Suite{options: o, rig: r}
	for _, step := range []func(context.Context) error{
		s.openPlanes, s.openPlugins, s.openPingPong, s.openClients,
		s.memory, s.paced, s.redis, s.memcached, s.database, s.files, s.remember, s.locks,
	} {
		if err := step(ctx); err != nil {
			return s, err
		}
	}
	s.narrow()
	return s, nil
}

// Close ends all contenders, the last opened first.
func (s *Suite) Close(ctx context.Context) (err error) {
	for len(s.closers) > 0 {
		last := s.closers[len(s.closers)-1]
		s.closers = s.closers[:len(s.closers)-1]
		err = errors.Join(err, last(ctx))
	}
	return err
}

// Profile is the folder of the options.
func (s *Suite) Profile() string { return s.options.Profile }

// Contests are those of all sections.
func (s *Suite) Contests() (all []contest.Contest) {
	for _, section := range s.Sections {
		all = append(all, section.Contests...)
	}
	return all
}

func (s *Suite) onClose(f func(context.Context) error) { s.closers = append(s.closers, f) }

func (s *Suite) add(title, text string, contests ...contest.Contest) {
	s.Sections = append(s.Sections, Section{title, text, contests})
}

// narrow leaves what the options ask for.
func (s *Suite) narrow() {
	var kept []Section
	for _, section := range s.Sections {
		contests := section.Contests
		section.Contests = nil
		for _, c := range contests {
			if only := s.options.Only; only != nil && !only.MatchString(c.Key) {
				continue
			}
			if who := s.options.Who; who != nil {
				c = c.With(who.MatchString)
			}
			section.Contests = append(section.Contests, c)
		}
		if len(section.Contests) > 0 {
			kept = append(kept, section)
		}
	}
	s.Sections = kept
}
