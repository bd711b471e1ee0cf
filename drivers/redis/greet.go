package redis

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"
)

// The oldest server that has every command that the driver sends.
const oldestMajor, oldestMinor = 6, 2

// A refusal is a reason not to use a server, which repeating does not change.
// It matches kind, and never wraps it, since go-redis would unwrap it.
type refusal struct {
	reason string
	kind   error // may be nil
}

func (r *refusal) Error() string        { return r.reason }
func (r *refusal) Is(target error) bool { return r.kind != nil && r.kind == target }

// errNoMaster is what a server that Sentinel named says when it is none, or
// none yet.
type errNoMaster struct{}

func (errNoMaster) Error() string { return "the server is a replica; Sentinel has named it the master" }

// greet asks a server that has just been connected to who it is.
func (s *server) greet(ctx context.Context, conn *redis.Conn) error {
	hello, err := conn.Hello(ctx, 2, "", "", "").Result()
	if err != nil && strings.Contains(err.Error(), "unknown command") {
		return checkVersion("redis", versionByInfo(ctx, conn))
	}
	if err != nil {
		return err
	}
	name, _ := hello["server"].(string)
	version, _ := hello["version"].(string)
	if err := checkVersion(name, version); err != nil {
		return err
	}
	if role, _ := hello["role"].(string); s.mustBeMaster && role != "master" {
		return errNoMaster{}
	}
	return nil
}

// checkVersion refuses a Redis that is too old, and nothing that it can't read.
func checkVersion(name, version string) error {
	var major, minor int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); name != "redis" || n < 2 {
		return nil
	}
	if major > oldestMajor || major == oldestMajor && minor >= oldestMinor {
		return nil
	}
	return &refusal{
		reason: fmt.Sprintf("the server is Redis %s; this driver needs Redis %d.%d or later, or Valkey: upgrade the server", version, oldestMajor, oldestMinor),
		kind:   errors.ErrUnsupported,
	}
}

var infoVersion = regexp.MustCompile(`(?m)^redis_version:([0-9A-Za-z.-]{1,20})`)

// versionByInfo asks a server that doesn't know HELLO, which came with 6.0.
func versionByInfo(ctx context.Context, conn *redis.Conn) string {
	info, err := conn.Info(ctx, "server").Result()
	if found := infoVersion.FindStringSubmatch(info); err == nil && found != nil {
		return found[1]
	}
	return "5.0 or older"
}
