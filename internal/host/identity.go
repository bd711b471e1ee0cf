package host

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// An identity is the host's end of the TLS between it and one driver process.
// Both ends make a key pair for one start and exchange the certificates, the
// host's in PLUGIN_CLIENT_CERT and the driver's in the handshake line.
type identity struct {
	// config trusts nobody until go-plugin puts the driver's certificate into
	// its RootCAs, so that a driver without one can't be spoken to.
	config *tls.Config
	nobody *x509.CertPool
	pem    string
}

// certificateLife outlasts any process; the key pair ends with its process.
const certificateLife = 30 * 365 * 24 * time.Hour

func newIdentity() (*identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a TLS key: %w", err)
	}
	der, err := selfSigned(key)
	if err != nil {
		return nil, fmt.Errorf("make a TLS certificate: %w", err)
	}
	nobody := x509.NewCertPool()
	return &identity{
		config: &tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
			RootCAs:      nobody,
			ServerName:   "localhost",
			MinVersion:   tls.VersionTLS12,
		},
		nobody: nobody,
		pem:    string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
	}, nil
}

func selfSigned(key *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "localhost", Organization: []string{"cachewright host"}},
		DNSNames:              []string{"localhost"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(certificateLife),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	return x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
}

// peerKnown reports whether the driver sent a certificate. It is asked after
// go-plugin has read the handshake.
func (id *identity) peerKnown() bool { return id.config.RootCAs != id.nobody }
