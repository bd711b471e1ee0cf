package redis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// fenceLife is how long the last fence of a lock is kept after its last use.
const fenceLife = 24 * time.Hour

// leaseName is the name of the hash that holds a lock: its owner, until when
// it is the owner's (µs since 1970), and the last fence. No entry has a NUL in
// its key, and the lock lies where the key does: in its slot, and in the
// patterns of an ACL.
func leaseName(r sdk.LeaseRequest) string { return r.Key + "\x00" + r.Strategy }

// leaseScript begins with what all of them need: the time, and the lease.
func leaseScript(source string) script {
	return newScript(`
local clock = redis.call('TIME')
local now = ARGV[2] ~= '' and tonumber(ARGV[2]) or clock[1] * 1000000 + clock[2]
local held = redis.call('HMGET', KEYS[1], 'owner', 'until', 'fence')
local left = held[1] and (tonumber(held[2] or '') or 0) - now or 0
local function failed(answer) return type(answer) == 'table' and answer.err end
` + source)
}

// acquireLease counts fences as texts: no number of Lua's comes near one.
var acquireLease = leaseScript(`
if left > 0 and held[1] ~= ARGV[1] then return {0, left, '0'} end
local fence = '0'
if ARGV[5] == 'fenced' then
  local stepped = redis.pcall('HINCRBY', KEYS[1], 'fence', 1)
  if failed(stepped) then return stepped end
  fence = redis.call('HGET', KEYS[1], 'fence')
  local floor = clock[1] .. string.format('%06d', clock[2])
  if #fence < #floor or #fence == #floor and fence < floor then
    fence = floor
    redis.call('HSET', KEYS[1], 'fence', fence)
  end
end
local set = redis.pcall('HSET', KEYS[1], 'owner', ARGV[1], 'until', string.format('%.0f', now + ARGV[3] + 1))
if failed(set) then return set end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return {1, tonumber(ARGV[3]), fence}
`)

var renewLease = leaseScript(`
if left <= 0 then return {0, 0, '0'} end
if held[1] ~= ARGV[1] then return {0, left, '0'} end
local set = redis.pcall('HSET', KEYS[1], 'until', string.format('%.0f', now + ARGV[3] + 1))
if failed(set) then return set end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return {1, tonumber(ARGV[3]), held[3] or '0'}
`)

// A user who may not publish still releases: waiters poll too.
var releaseLease = leaseScript(`
if left <= 0 or held[1] ~= ARGV[1] then return {0, 0, '0'} end
local gone
if held[3] then
  gone = redis.pcall('HDEL', KEYS[1], 'owner', 'until')
  if failed(gone) then return gone end
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
else
  gone = redis.pcall('UNLINK', KEYS[1])
  if failed(gone) then return gone end
end
redis.pcall('PUBLISH', KEYS[1], 'free')
return {1, 0, '0'}
`)

var lookAtLease = leaseScript(`
if left < 0 or held[1] == ARGV[1] then left = 0 end
return {0, left, '0'}
`)

// AcquireLease implements sdk.Leaser.
func (s *store) AcquireLease(ctx context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	return s.lease(ctx, acquireLease, r, again)
}

// RenewLease implements sdk.LeaseRenewer.
func (s *store) RenewLease(ctx context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	return s.lease(ctx, renewLease, r, again)
}

// ReleaseLease implements sdk.Leaser.
func (s *store) ReleaseLease(ctx context.Context, r sdk.LeaseRequest) (released bool, err error) {
	g, err := s.lease(ctx, releaseLease, r, again)
	return g.OK, err
}

func (s *store) lease(ctx context.Context, script script, r sdk.LeaseRequest, repeat repeat) (sdk.LeaseGrant, error) {
	lease := (min(r.Lease, math.MaxInt64-fenceLife) + time.Microsecond - 1).Microseconds()
	keep := milliseconds(fenceLife) + lease/1000
	now, fenced := "", ""
	if r.Clock == sdk.DriverClock {
		now = strconv.FormatInt(time.Now().UnixMicro(), 10)
	}
	if r.Strategy == sdk.StrategyExclusive {
		fenced = "fenced"
	}
	answer, err := s.run(ctx, script, call{key: leaseName(r), repeat: repeat}, r.Owner, now, lease, keep, fenced)
	if err == nil {
		var g sdk.LeaseGrant
		if g, err = readGrant(answer); err == nil {
			return g, nil
		}
	}
	if foreign(err) {
		return sdk.LeaseGrant{}, fmt.Errorf("%w; it is the record of a lock, the hash %q, and not as this driver writes it: once nobody is in the lock, delete it",
			asCorrupt(err), leaseName(r))
	}
	return sdk.LeaseGrant{}, err
}

// foreign tells what the server says of a record that is no hash, or whose
// fence no number can follow.
func foreign(err error) bool {
	return errors.Is(err, sdk.ErrCorrupt) || errors.Is(err, sdk.ErrNotInteger) || errors.Is(err, sdk.ErrOverflow)
}

// asCorrupt keeps what the server said, which is about a value of the caller's
// elsewhere.
func asCorrupt(err error) error {
	if errors.Is(err, sdk.ErrCorrupt) {
		return err
	}
	return fmt.Errorf("%w: %v", sdk.ErrCorrupt, err) // not wrapped: no value of the caller's is to blame
}

func readGrant(answer any) (sdk.LeaseGrant, error) {
	parts, _ := answer.([]any)
	if len(parts) != 3 {
		return sdk.LeaseGrant{}, fmt.Errorf("%w: a script of the driver answered %d values", sdk.ErrInternal, len(parts))
	}
	ok, _ := parts[0].(int64)
	left, _ := parts[1].(int64)
	text, _ := parts[2].(string)
	fence, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return sdk.LeaseGrant{}, fmt.Errorf("%w: the lock has no readable fence", sdk.ErrCorrupt)
	}
	return sdk.LeaseGrant{OK: ok == 1, Fence: fence, Remaining: time.Duration(left) * time.Microsecond}, nil
}
