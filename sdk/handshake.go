package sdk

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/cachewright/cachewright/internal/wire"
)

// The variables that a host sets beside the cookie. They are go-plugin's.
const (
	socketDirKey   = "PLUGIN_UNIX_SOCKET_DIR"
	clientCertKey  = "PLUGIN_CLIENT_CERT"
	pluginPrefix   = "PLUGIN_"
	coreProtocol   = 1 // go-plugin's, in the handshake line
	serverHostName = "localhost"
)

// maxSocketPath is the longest path that a unix socket can have on every
// system that is supported: 104 bytes on macOS, the closing NUL among them.
const maxSocketPath = 103

// An environment is what a host passed on in variables.
type environment struct {
	socketDir  string
	clientCert string // PEM
	plane      string // the version of the fast plane that waits at its descriptor; "" for none
}

// takeEnvironment reads the host's variables and removes them, so that nothing
// that this process starts takes itself for a driver.
func takeEnvironment() environment {
	e := environment{socketDir: os.Getenv(socketDirKey), clientCert: os.Getenv(clientCertKey), plane: os.Getenv(wire.PlaneKey)}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if name == wire.CookieKey || name == wire.BuiltinKey || name == wire.PlaneKey || strings.HasPrefix(name, pluginPrefix) {
			os.Unsetenv(name)
		}
	}
	return e
}

// credentials makes this process a certificate of its own, as DER too, and
// asks clients for the host's.
func (e environment) credentials() (credentials.TransportCredentials, []byte, error) {
	if e.clientCert == "" {
		return nil, nil, fmt.Errorf("the host gave no certificate in %s; this driver does not serve without TLS", clientCertKey)
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM([]byte(e.clientCert)) {
		return nil, nil, fmt.Errorf("%s holds no certificate in PEM", clientCertKey)
	}
	own, err := newCertificate()
	if err != nil {
		return nil, nil, fmt.Errorf("making a certificate: %w", err)
	}
	return credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{own},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    clients,
		MinVersion:   tls.VersionTLS13,
	}), own.Certificate[0], nil
}

// newCertificate signs itself. It lives as long as its process may, and is
// valid from before now, in case the clock is set back.
func newCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "cachewright driver"},
		DNSNames:              []string{serverHostName},
		NotBefore:             now.AddDate(0, 0, -1),
		NotAfter:              now.AddDate(30, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA:                  true, // it is its own authority
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// listen opens a unix socket in the host's folder. Only this user may connect
// to it, whatever the umask.
func (e environment) listen() (net.Listener, error) {
	if e.socketDir == "" {
		return nil, fmt.Errorf("the host named no folder for the socket in %s", socketDirKey)
	}
	path := filepath.Join(e.socketDir, rand.Text()[:8])
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path of the socket has %d bytes, and the system takes %d: %s; the host needs a shorter temporary folder",
			len(path), maxSocketPath, path)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// announce prints go-plugin's handshake line. It starts a line of its own, in
// case something printed half a line before.
func announce(stdout io.Writer, address net.Addr, certificate []byte) error {
	_, err := fmt.Fprintf(stdout, "\n%d|%d|%s|%s|grpc|%s\n",
		coreProtocol, wire.PluginVersion, address.Network(), address, base64.RawStdEncoding.EncodeToString(certificate))
	if err != nil {
		return fmt.Errorf("the host does not read stdout: %w", err)
	}
	return nil
}
