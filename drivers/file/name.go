package file

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Names of entry files are made of a-z, 0-9 and a few marks, so that no file
// system folds, normalises or refuses them, and a person can read them:
// "app:User/42" is "app=^user+42".
//
//	a-z 0-9 - _ .   themselves; a dot at either end of the name is %2e
//	A-Z             ^ and the small letter
//	: and /         = and +
//	any other byte  % and two hex digits
//
// A key whose name would grow beyond maxName gets the start of that name, a ~,
// and the key's SHA-256. No short name holds a ~. Names that start with a dot
// are the store's own.
const (
	maxName  = 143 // what eCryptfs leaves of 255
	hashLen  = 2 * sha256.Size
	maxHead  = maxName - 1 - hashLen
	lockName = ".lock"
	tempHead = ".tmp-"
	hexDigit = "0123456789abcdef"
)

// place is where the entry of key lives: the number of its folder, and the
// name of its file there.
func place(key string) (folder byte, name string) {
	return byte(xxhash.Sum64String(key)), fileName(key)
}

func fileName(key string) string {
	name := escape(key)
	if strings.HasSuffix(name, ".") {
		name = name[:len(name)-1] + "%2e"
	}
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(key))
	return name[:maxHead] + "~" + hex.EncodeToString(sum[:])
}

// escape writes a key in the alphabet of names, but for a dot at its end. It
// may stop once the name is too long.
func escape(key string) string {
	b := make([]byte, 0, maxName+3)
	for i := 0; i < len(key) && len(b) <= maxName; i++ {
		switch c := key[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_', c == '.' && i > 0:
			b = append(b, c)
		case 'A' <= c && c <= 'Z':
			b = append(b, '^', c|0x20)
		case c == ':':
			b = append(b, '=')
		case c == '/':
			b = append(b, '+')
		default:
			b = append(b, '%', hexDigit[c>>4], hexDigit[c&15])
		}
	}
	return string(b)
}

// folderName is the name of folder n, in two hex digits.
func folderName(n byte) string { return string([]byte{hexDigit[n>>4], hexDigit[n&15]}) }

// isEntry tells the names of entries from the store's own.
func isEntry(name string) bool { return !strings.HasPrefix(name, ".") }

// isTemp recognises the files that values are written to before they are
// renamed.
func isTemp(name string) bool { return strings.HasPrefix(name, tempHead) }

// A prefixFilter judges by file names which entries' keys start with a prefix,
// so that nothing need be opened.
type prefixFilter struct {
	prefix string
	head   string // how names of such keys start
	exact  string // the name of the prefix as a key
}

func newPrefixFilter(prefix string) prefixFilter {
	if prefix == "" {
		return prefixFilter{}
	}
	return prefixFilter{prefix, escape(prefix), fileName(prefix)}
}

// match reports whether the key of a name starts with the prefix. Where the
// name holds too little of the key, sure is false and only the key can tell.
func (f prefixFilter) match(name string) (matches, sure bool) {
	if strings.HasPrefix(name, f.head) || f.prefix != "" && name == f.exact {
		return true, true
	}
	head, _, long := strings.Cut(name, "~")
	if long && len(head) < len(f.head) && strings.HasPrefix(f.head, head) {
		return false, false
	}
	return false, true
}

func splitPath(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == filepath.Separator })
}
