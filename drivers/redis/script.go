package redis

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// A script runs atomically on the server of its one key. An error of its first
// command that writes is answered as it is, and nothing was executed then.
type script struct {
	source, sha string
}

func newScript(source string) script { return script{source, redis.NewScript(source).Hash()} }

// run runs a script. A server that doesn't know it, or not any more, gets its
// source.
func (s *store) run(ctx context.Context, script script, c call, args ...any) (any, error) {
	answer, err := s.eval(ctx, "evalsha", script.sha, c, args)
	if errors.Is(err, errNoScript) {
		answer, err = s.eval(ctx, "eval", script.source, c, args)
	}
	return answer, err
}

func (s *store) eval(ctx context.Context, verb, body string, c call, args []any) (any, error) {
	cmd := redis.NewCmd(ctx, append([]any{verb, body, 1, c.key}, args...)...)
	c.cmd = cmd
	if err := s.do(ctx, c); err != nil {
		return nil, err
	}
	return cmd.Val(), nil
}

var compareDelete = newScript(`
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' and not held.err:find('WRONGTYPE') then return held end
if held ~= ARGV[1] then return 0 end
return redis.pcall('UNLINK', KEYS[1])
`)

// A sum never becomes a number of Lua, which is a double.
var increment = newScript(`
local made = redis.pcall('SET', KEYS[1], '0', 'NX', 'PX', ARGV[2])
if type(made) == 'table' and made.err then return made end
local sum = redis.pcall('INCRBY', KEYS[1], ARGV[1])
if type(sum) == 'table' and sum.err then return sum end
return redis.call('GET', KEYS[1])
`)

var persist = newScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local done = redis.pcall('PERSIST', KEYS[1])
if type(done) == 'table' and done.err then return done end
return 1
`)
