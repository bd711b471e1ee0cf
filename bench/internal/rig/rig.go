package rig

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cachewright/cachewright/internal/servertest"
)

// A Rig is all servers, on addresses of the loopback and in a folder of their
// own.
type Rig struct {
	Redis         *servertest.Redis // listens on both
	Memcached     *servertest.Memcached
	MemcachedUnix *servertest.Memcached
	Postgres      *servertest.Postgres
	Dir           string // for files

	bench bench
}

// Start starts all servers, as the tests do: nothing is synced to a disk. The
// rig has to be stopped also if Start fails.
func Start() (*Rig, error) {
	r := &Rig{}
	var err error
	if r.Dir, err = os.MkdirTemp("", "cachewright-bench-"); err != nil {
		return r, err
	}
	r.bench.Cleanup(func() { os.RemoveAll(r.Dir) })
	return r, r.bench.with(r.start)
}

func (r *Rig) start(t testing.TB) {
	r.Redis = servertest.StartRedis(t, servertest.RedisOptions{})
	r.Memcached = servertest.StartMemcached(t, servertest.MemcachedOptions{Args: roomy})
	r.MemcachedUnix = servertest.StartMemcached(t, servertest.MemcachedOptions{Unix: true, Args: roomy})
	r.Postgres = servertest.StartPostgres(t, servertest.PostgresOptions{})
}

var roomy = []string{"-I", "4m", "-m", "128"}

// Folder returns the path of a folder that isn't there yet.
func (r *Rig) Folder(name string) string { return filepath.Join(r.Dir, name) }

// Stop ends all servers and removes what they wrote.
func (r *Rig) Stop() error { return r.bench.clean() }
