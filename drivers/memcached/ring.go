package memcached

import (
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// A ring spreads names over servers by rendezvous hashing: each server has a
// score for each name, and the highest gets it. A server that joins takes its
// share from all others and moves nothing between them.
type ring []node

type node struct {
	server *server
	seed   uint64
}

func newNode(s *server) node { return node{s, xxhash.Sum64String(s.at.name)} }

// of returns the server of a name.
func (r ring) of(name string) *server {
	if len(r) == 1 {
		return r[0].server
	}
	hash := xxhash.Sum64String(name)
	best, most := r[0], score(r[0].seed, hash)
	for _, n := range r[1:] {
		if s := score(n.seed, hash); s > most || s == most && n.seed > best.seed {
			best, most = n, s
		}
	}
	return best.server
}

// score mixes the bits of both numbers (the finalizer of SplitMix64).
func score(seed, hash uint64) uint64 {
	x := seed ^ hash
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// space names the servers, in an order that doesn't depend on the options'.
func (r ring) space() string {
	names := make([]string, len(r))
	for i, n := range r {
		names[i] = n.server.at.name
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}
