package redis

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"github.com/redis/go-redis/v9"
)

// A reply is an error that a server answered with.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestWhatFollowsFromAnError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want verdict
	}{
		{nil, fine},
		{redis.Nil, fine},
		{io.EOF, lost},
		{errInterrupted, lost},
		{errNoMaster{}, lost},
		{errDial{reply("ERR of a Sentinel")}, lost},
		{&refusal{reason: "too old"}, failed},
		{fmt.Errorf("%w: 65536", sdk.ErrOverloaded), failed},
		{reply("LOADING Redis is loading the dataset in memory"), refused},
		{reply("READONLY You can't write against a read only replica."), refused},
		{reply("@user_script: 3: -READONLY You can't write against a read only replica."), refused},
		{reply("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."), refused},
		{reply("CLUSTERDOWN The cluster is down"), refused},
		{reply("TRYAGAIN Multiple keys request during rehashing of slot"), refused},
		{reply("NOREPLICAS Not enough good replicas to write."), refused},
		{reply("BUSY Redis is busy running a script."), refused},
		{reply("ERR max number of clients reached"), refused},
		{reply("BUSYGROUP of another word"), failed},
		{reply("OOM command not allowed when used memory > 'maxmemory'."), failed},
		{reply("WRONGTYPE Operation against a key holding the wrong kind of value"), failed},
		{reply("NOPERM this user has no permissions"), failed},
		{reply("ERR a text that says READONLY somewhere"), failed},
	} {
		if got := judge(c.err); got != c.want {
			t.Errorf("judge(%v) = %d; want %d", c.err, got, c.want)
		}
	}
}

func TestFinalAnswersAreExplained(t *testing.T) {
	t.Parallel()
	srv := &server{name: "h:1", settings: settings{secrets: []string{"hush"}}}
	for text, kind := range map[string]error{
		"WRONGTYPE Operation against a key holding the wrong kind of value":                     sdk.ErrCorrupt,
		"ERR value is not an integer or out of range":                                           sdk.ErrNotInteger,
		"ERR Error running script: @user_script:2: ERR value is not an integer or out of range": sdk.ErrNotInteger,
		"ERR increment or decrement would overflow":                                             sdk.ErrOverflow,
		"NOSCRIPT No matching script. Please use EVAL.":                                         errNoScript,
		"ERR Protocol error: invalid bulk length":                                               sdk.ErrTooLarge,
		"NOPERM this user has no permissions to run the 'get' command":                          errNotAllowed,
	} {
		err := explain(srv, reply(text))
		if !errors.Is(err, kind) || !strings.HasPrefix(err.Error(), "h:1: ") {
			t.Errorf("explain(%s) = %v; want the server and %v", text, err, kind)
		}
	}
	for _, text := range []string{"ERR hush", "ERR unknown command `x`, with args beginning with: `hu`, `sh`", "WRONGPASS hush"} {
		if err := explain(srv, reply(text)); strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "`hu`") {
			t.Errorf("explain(%s) = %v", text, err)
		}
	}
}

func TestVersionsThatAreTooOld(t *testing.T) {
	t.Parallel()
	for version, old := range map[string]bool{
		"5.0.7": true, "6.0.16": true, "6.1.240": true, "2.8": true,
		"6.2.0": false, "6.2.14": false, "7.0.15": false, "8.0.0-rc1": false, "10.0": false, "": false, "unstable": false,
	} {
		if err := checkVersion("redis", version); (err != nil) != old || old && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("Redis %s: %v", version, err)
		}
	}
	if err := checkVersion("valkey", "1.0"); err != nil {
		t.Errorf("Valkey counts its own versions: %v", err)
	}
}

func TestPausesGrowToALimit(t *testing.T) {
	t.Parallel()
	for n := 1; n < 100; n++ {
		full := min(5*time.Millisecond<<min(n-1, 10), 320*time.Millisecond)
		if got := backoff(n); got < full/2 || got > full {
			t.Errorf("backoff(%d) = %v; want %v to %v", n, got, full/2, full)
		}
	}
}

func FuzzScanCursor(f *testing.F) {
	f.Add([]byte("h:1\nabc\n17"))
	f.Add([]byte("h:1\nabc\n0\nx\ny"))
	f.Add([]byte("\n\n\n"))
	f.Fuzz(func(t *testing.T, cursor []byte) {
		s, err := parseScan(cursor)
		if err != nil || len(cursor) == 0 {
			return
		}
		again, err := parseScan(s.bytes())
		if err != nil || again.server != s.server || again.process != s.process || again.at != s.at || len(again.done) != len(s.done) {
			t.Errorf("%q is %+v, which is written as %q and read as %+v, %v", cursor, s, s.bytes(), again, err)
		}
	})
}

func FuzzURLOptions(f *testing.F) {
	for _, url := range []string{"redis://:SECRET@h:1/2", "rediss://u:SECRET@h", "unix://:SECRET@/s?db=1", "redis://SECRET#@h", "http://SECRET", "%SECRET"} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		o := options{URL: &url, DialTimeout: 1, StallTimeout: 1, Pipelines: 1, PoolSize: 1}
		target, err := o.understand()
		if err != nil && strings.Contains(err.Error(), "SECRET") {
			t.Errorf("the error repeats the URL: %v", err)
		}
		if err == nil && target.addr == "" {
			t.Errorf("%q leads nowhere", url)
		}
	})
}
