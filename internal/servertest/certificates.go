package servertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Certificates are files, in PEM, for servers with TLS and their clients.
type Certificates struct {
	CA                    string // signed both
	ServerCert, ServerKey string // for 127.0.0.1 and localhost
	ClientCert, ClientKey string // for the common name client
	pool                  *x509.CertPool
	client                tls.Certificate
}

// NewCertificates makes an authority, and a server and a client that it knows.
// The files are removed when t ends.
func NewCertificates(t testing.TB) *Certificates {
	t.Helper()
	dir := testHome(t).folder(t, "tls")
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := func(name string) string { return filepath.Join(dir, name) }
	c := &Certificates{
		CA: file("ca.pem"), ServerCert: file("server.pem"), ServerKey: file("server.key"),
		ClientCert: file("client.pem"), ClientKey: file("client.key"), pool: x509.NewCertPool(),
	}
	if err := c.issue(); err != nil {
		t.Fatalf("servertest: certificates: %v", err)
	}
	return c
}

// Client returns what a client needs that shows its certificate.
func (c *Certificates) Client() *tls.Config {
	return &tls.Config{RootCAs: c.pool, Certificates: []tls.Certificate{c.client}, ServerName: "localhost"}
}

func (c *Certificates) issue() error {
	authority := certificate("authority")
	authority.IsCA, authority.KeyUsage = true, x509.KeyUsageCertSign
	key, err := newKey()
	if err != nil {
		return err
	}
	if err := sign(authority, authority, key, key, c.CA, ""); err != nil {
		return err
	}
	server, client := certificate("localhost"), certificate("client")
	server.DNSNames, server.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}
	if err := issue(server, authority, key, c.ServerCert, c.ServerKey); err != nil {
		return err
	}
	if err := issue(client, authority, key, c.ClientCert, c.ClientKey); err != nil {
		return err
	}
	ca, err := os.ReadFile(c.CA)
	if err != nil {
		return err
	}
	c.pool.AppendCertsFromPEM(ca)
	c.client, err = tls.LoadX509KeyPair(c.ClientCert, c.ClientKey)
	return err
}

func certificate(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber:          big.NewInt(time.Now().UnixNano()),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// issue makes a key for the certificate and has the authority sign it.
func issue(cert, authority *x509.Certificate, authorityKey *ecdsa.PrivateKey, certFile, keyFile string) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	return sign(cert, authority, key, authorityKey, certFile, keyFile)
}

func sign(cert, authority *x509.Certificate, key, authorityKey *ecdsa.PrivateKey, certFile, keyFile string) error {
	der, err := x509.CreateCertificate(rand.Reader, cert, authority, key.Public(), authorityKey)
	if err != nil {
		return err
	}
	if err := writePEM(certFile, "CERTIFICATE", der); err != nil || keyFile == "" {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(keyFile, "PRIVATE KEY", private)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
