package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// keepAlive finds out about a peer that has vanished while nothing was due.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3}

// tlsFiles is how to speak TLS.
type tlsFiles struct {
	ca, cert, key, serverName string
	insecure                  bool
}

// dial connects to an address, with TLS where it is wanted.
func (s settings) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: keepAlive}
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil || s.tls == nil {
		return conn, err
	}
	config, err := s.tls.config(addr)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("TLS with %s: %w%s", addr, err, tlsAdvice(err))
	}
	return secured, nil
}

func tlsAdvice(err error) string {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.As(err, &authority):
		return ": give the authority that signed the server's certificate as tls.ca"
	case errors.As(err, &name):
		return ": give the name that the certificate bears as tls.server_name"
	}
	return ""
}

// config reads the files, anew for each connection, so that renewed ones are
// taken up.
func (f tlsFiles) config(addr string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.serverName, InsecureSkipVerify: f.insecure}
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(addr)
	}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, fmt.Errorf("tls.ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls.ca: no PEM certificate in %s", f.ca)
		}
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, fmt.Errorf("tls.cert, tls.key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
