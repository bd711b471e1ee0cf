package servertest

import (
	"context"
	"crypto/tls"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

func TestServersSpeakTLS(t *testing.T) {
	t.Parallel()
	files := NewCertificates(t)
	stranger := NewCertificates(t).Client()
	for name, try := range map[string]func(t *testing.T) (talk func(*tls.Config) error){
		"Redis": func(t *testing.T) func(*tls.Config) error {
			server := StartRedis(t, RedisOptions{TLS: files})
			return func(config *tls.Config) error {
				client := redis.NewClient(&redis.Options{Addr: server.Addr(), TLSConfig: config, MaxRetries: -1})
				defer client.Close()
				return client.Ping(t.Context()).Err()
			}
		},
		"Memcached": func(t *testing.T) func(*tls.Config) error {
			server := StartMemcached(t, MemcachedOptions{TLS: files, Args: []string{"-o", "ssl_verify_mode=2"}})
			return func(config *tls.Config) error { return memcachedServes("tcp", server.Addr(), config) }
		},
		"PostgreSQL": func(t *testing.T) func(*tls.Config) error {
			server := StartPostgres(t, PostgresOptions{
				TLS:    files,
				Access: []string{"hostssl all all 127.0.0.1/32 trust clientcert=verify-ca"},
			})
			return func(secure *tls.Config) error {
				config, err := pgx.ParseConfig(server.URL(""))
				if err != nil {
					return err
				}
				config.TLSConfig = secure
				conn, err := pgx.ConnectConfig(within(t, time.Minute), config)
				if err != nil {
					return err
				}
				return conn.Close(context.Background())
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			talk := try(t)
			if err := talk(files.Client()); err != nil {
				t.Errorf("with both certificates: %v", err)
			}
			if err := talk(stranger); err == nil {
				t.Error("another authority's client is trusted, and trusts")
			}
			unknown := files.Client()
			unknown.Certificates = nil
			if err := talk(unknown); err == nil {
				t.Error("a client without a certificate is let in")
			}
			if err := talk(nil); err == nil {
				t.Error("plain text is let in")
			}
		})
	}
}
