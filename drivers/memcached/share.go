package memcached

import (
	"errors"
	"sync"
)

// each does something with every server at once, and joins the errors in the
// order of the servers.
func (r ring) each(do func(i int, s *server) error) error {
	errs := make([]error, len(r))
	var all sync.WaitGroup
	for i, n := range r {
		all.Go(func() { errs[i] = do(i, n.server) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// A share is the names of a batch that are one server's.
type share struct {
	server *server
	names  []string
	places []int // of the names in the batch
	known  int   // how many of them have been answered for
}

// divide gives each server its share.
func (r ring) divide(names []string) []*share {
	shares := make([]*share, 0, len(r))
	at := make(map[*server]*share, len(r))
	for i, name := range names {
		srv := r.of(name)
		part, ok := at[srv]
		if !ok {
			part = &share{server: srv}
			at[srv] = part
			shares = append(shares, part)
		}
		part.names = append(part.names, name)
		part.places = append(part.places, i)
	}
	return shares
}

// together works on all shares at once, the last of them in this goroutine.
func together(shares []*share, do func(*share)) {
	if len(shares) == 0 {
		return
	}
	last := len(shares) - 1
	var all sync.WaitGroup
	for _, part := range shares[:last] {
		all.Go(func() { do(part) })
	}
	do(shares[last])
	all.Wait()
}
