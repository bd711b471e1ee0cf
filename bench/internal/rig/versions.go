package rig

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// Versions are those of the servers, as they say themselves.
func (r *Rig) Versions() string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return fmt.Sprintf("redis %s, memcached %s, PostgreSQL %s", r.redisVersion(ctx), r.memcachedVersion(), r.postgresVersion(ctx))
}

const unknown = "of an unknown version"

func (r *Rig) redisVersion(ctx context.Context) string {
	client := redis.NewClient(&redis.Options{Addr: r.Redis.Addr()})
	defer client.Close()
	info, _ := client.Info(ctx, "server").Result()
	for line := range strings.Lines(info) {
		if version, ok := strings.CutPrefix(line, "redis_version:"); ok {
			return strings.TrimSpace(version)
		}
	}
	return unknown
}

func (r *Rig) memcachedVersion() string {
	conn, err := net.DialTimeout("tcp", r.Memcached.Addr(), 10*time.Second)
	if err != nil {
		return unknown
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprint(conn, "version\r\n")
	line, _ := bufio.NewReader(conn).ReadString('\n')
	if version, ok := strings.CutPrefix(line, "VERSION "); ok {
		return strings.TrimSpace(version)
	}
	return unknown
}

func (r *Rig) postgresVersion(ctx context.Context) string {
	conn, err := pgx.Connect(ctx, r.Postgres.SocketURL(""))
	if err != nil {
		return unknown
	}
	defer conn.Close(ctx)
	var version string
	if conn.QueryRow(ctx, "SHOW server_version").Scan(&version) != nil {
		return unknown
	}
	version, _, _ = strings.Cut(version, " ")
	return version
}
