package redis_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/drivers/redis"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

func TestTLSIsVerified(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	server := ours.secure(t, "no")
	_, port, _ := net.SplitHostPort(server.Addr())
	for _, c := range []struct {
		name    string
		options map[string]any
		refused string // what the error says; "": it works
	}{
		{"the right authority", map[string]any{"addr": server.Addr(), "tls": map[string]any{"enabled": true, "ca": ours.file}}, ""},
		{"a rediss URL", map[string]any{"url": "rediss://" + server.Addr(), "tls": map[string]any{"ca": ours.file}}, ""},
		{"a name that the certificate bears", map[string]any{"addr": server.Addr(), "tls": map[string]any{"enabled": true, "ca": ours.file, "server_name": "cache.test"}}, ""},
		{"unverified by wish", map[string]any{"addr": server.Addr(), "tls": map[string]any{"enabled": true, "insecure": true}}, ""},
		{"the system's authorities", map[string]any{"addr": server.Addr(), "tls": map[string]any{"enabled": true}}, "tls.ca"},
		{"another authority", map[string]any{"addr": server.Addr(), "tls": map[string]any{"enabled": true, "ca": theirs.file}}, "tls.ca"},
		{"another name", map[string]any{"addr": server.Addr(), "tls": map[string]any{"enabled": true, "ca": ours.file, "server_name": "other.test"}}, "tls.server_name"},
		{"a host that isn't in the certificate", map[string]any{"addr": net.JoinHostPort("localhost", port), "tls": map[string]any{"enabled": true, "ca": ours.file}}, "tls.server_name"},
		{"no TLS", map[string]any{"addr": server.Addr(), "stall_timeout": "100ms"}, "unavailable"},
		{"a file that is missing", map[string]any{"addr": server.Addr(), "tls": map[string]any{"enabled": true, "ca": "/missing.pem"}}, "/missing.pem"},
		{"a file that is no certificate", map[string]any{"addr": server.Addr(), "tls": map[string]any{"enabled": true, "ca": os.Args[0]}}, "no PEM certificate"},
	} {
		err := opened(t, c.options).Set(within(t, patience), "k", []byte("v"), sdk.NoExpiry)
		if c.refused == "" && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %v; want an error about %s", c.name, err, c.refused)
		}
	}
}

func TestTLSWithACertificateOfTheClient(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t)
	server := ours.secure(t, "yes")
	cert, key := ours.issue(t, "client")
	options := map[string]any{"enabled": true, "ca": ours.file, "cert": cert, "key": key}
	store := opened(t, map[string]any{"addr": server.Addr(), "tls": options})
	ctx := within(t, patience)
	if err := store.Set(ctx, "k", make([]byte, 100<<10), sdk.NoExpiry); err != nil {
		t.Error(err)
	}
	lease := sdk.LeaseRequest{Strategy: sdk.StrategyExclusive, Key: "k", Owner: "o", Lease: time.Minute}
	if g, err := store.AcquireLease(ctx, lease); !g.OK || err != nil {
		t.Errorf("AcquireLease = %+v, %v", g, err)
	}
	lease.Owner = "another"
	waiting, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if err := store.WaitLease(waiting, lease); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("WaitLease: %v", err)
	}
	delete(options, "cert")
	delete(options, "key")
	err := opened(t, map[string]any{"addr": server.Addr(), "tls": options}).Ping(ctx)
	if !errors.Is(err, sdk.ErrUnavailable) {
		t.Errorf("without the certificate that the server wants: %v", err)
	}
}

func TestTLSOptionsGoTogether(t *testing.T) {
	t.Parallel()
	for key, options := range map[string]map[string]any{
		"tls.enabled": {"addr": "h:1", "tls": map[string]any{"ca": "ca.pem"}},
		"tls.cert":    {"addr": "h:1", "tls": map[string]any{"enabled": true, "cert": "c.pem"}},
	} {
		_, err := redis.Driver.Open(t.Context(), options)
		if !errors.Is(err, sdk.ErrInvalidOptions) || !strings.Contains(err.Error(), key) {
			t.Errorf("%v: %v", options, err)
		}
	}
}

// An authority signs certificates.
type authority struct {
	dir, file string
	cert      *x509.Certificate
	key       *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.file = a.write(t, "ca.pem", "CERTIFICATE", der)
	return a
}

// issue makes a pair for 127.0.0.1 and cache.test.
func (a *authority) issue(t *testing.T, name string) (cert, key string) {
	t.Helper()
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"cache.test"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &pair.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		t.Fatal(err)
	}
	return a.write(t, name+".pem", "CERTIFICATE", der), a.write(t, name+"-key.pem", "PRIVATE KEY", encoded)
}

func (a *authority) write(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// secure starts a server that speaks TLS, and nothing else, at its address.
func (a *authority) secure(t *testing.T, authClients string) *servertest.Redis {
	t.Helper()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	admin := observer(t, server)
	cert, key := a.issue(t, "server")
	command(t, admin, "config", "set", "tls-cert-file", cert, "tls-key-file", key, "tls-ca-cert-file", a.file, "tls-auth-clients", authClients)
	command(t, admin, "config", "set", "port", "0")
	command(t, admin, "config", "set", "tls-port", server.Port())
	return server
}
