package memcached

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/cachewright/cachewright/sdk"
)

// Names are what the server calls items. Memcached takes 250 bytes of anything
// but blanks and control characters, so that most keys are their own names:
//
//	bytes up to 0x20, 0x7f, % and ~   % and two hex digits
//	any other byte                    itself
//
// A key whose name would be longer gets the start of that name, a ~, and the
// key's SHA-256. Leases have names that start with a ~ and their strategy. No
// other name holds a ~.
const (
	maxName  = 250
	hashLen  = 2 * sha256.Size
	hexDigit = "0123456789abcdef"
)

// valueName is the name of an entry.
func valueName(key string) string { return nameOf("", key) }

// leaseName is the name of a lock's record.
func leaseName(r sdk.LeaseRequest) string { return nameOf("~"+r.Strategy+":", r.Key) }

func nameOf(space, key string) string {
	room := maxName - len(space)
	name := escape(key)
	if len(name) <= room {
		return space + name
	}
	head := room - 1 - hashLen
	for head > 0 && !utf8.RuneStart(name[head]) {
		head--
	}
	sum := sha256.Sum256([]byte(key))
	return space + name[:head] + "~" + hex.EncodeToString(sum[:])
}

func escape(key string) string {
	first := strings.IndexFunc(key, needsEscape)
	if first < 0 {
		return key
	}
	b := make([]byte, first, len(key)+2*8)
	copy(b, key)
	for i := first; i < len(key); i++ {
		if c := key[i]; needsEscape(rune(c)) {
			b = append(b, '%', hexDigit[c>>4], hexDigit[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

func needsEscape(c rune) bool { return c <= ' ' || c == 0x7f || c == '%' || c == '~' }
