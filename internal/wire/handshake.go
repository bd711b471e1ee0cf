package wire

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
)

// How a host and a driver process recognise each other. The handshake line on
// stdout is go-plugin's.
const (
	CookieKey   = "CACHEWRIGHT_DRIVER_COOKIE"
	CookieValue = "1f0f2b8e-cachewright-driver"

	// BuiltinKey names the built-in driver that a re-executed host becomes.
	BuiltinKey = "CACHEWRIGHT_BUILTIN"

	// PlaneKey says which version of the fast plane waits at descriptor 3 of a
	// driver's process.
	PlaneKey = "CACHEWRIGHT_FAST_PLANE"
	// PlaneMetadata is where Describe says which version the driver serves there.
	PlaneMetadata = "fast-plane"
	// PluginVersion is the version in go-plugin's handshake line. It changes
	// only if the opening messages themselves do.
	PluginVersion = 1

	// ProtocolMin and ProtocolMax are the range of protocol versions that this
	// module speaks. Both ends announce theirs; the highest common one is used.
	ProtocolMin = 1
	ProtocolMax = 1

	// ErrorTrailer carries the sentinels of an error beside a gRPC status.
	ErrorTrailer = "cachewright-error"

	// ProblemsTrailer carries what is wrong with a store's options: a JSON array
	// of objects with key and reason.
	ProblemsTrailer = "cachewright-problems-bin"

	// StdinGreeting starts the one line that a driver reads from its stdin.
	StdinGreeting = "cachewright "
)

// NewNonce draws the word by which a host recognises its child.
func NewNonce() string { return rand.Text() }

// StdinLine is the line that a host writes to a driver's stdin.
func StdinLine(nonce string) string { return StdinGreeting + nonce + "\n" }

// ParseStdinLine returns the nonce of a StdinLine.
func ParseStdinLine(line string) (string, error) {
	nonce, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), StdinGreeting)
	if !ok || nonce == "" || strings.ContainsAny(nonce, " \t\r\n") {
		return "", errors.New("the first line on stdin is not a host's greeting")
	}
	return nonce, nil
}

// Negotiate picks the highest protocol version that both ranges hold.
func Negotiate(peerMin, peerMax uint32) (uint32, error) {
	highest := min(uint32(ProtocolMax), peerMax)
	if highest < max(uint32(ProtocolMin), peerMin) {
		return 0, fmt.Errorf("no common protocol version: this side speaks %d to %d, the other %d to %d",
			ProtocolMin, ProtocolMax, peerMin, peerMax)
	}
	return highest, nil
}
