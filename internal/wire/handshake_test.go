package wire

import (
	"strings"
	"testing"
)

func TestTheGreetingIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	nonce := NewNonce()
	if got, err := ParseStdinLine(StdinLine(nonce)); err != nil || got != nonce {
		t.Errorf("ParseStdinLine = %q, %v, want %q", got, err, nonce)
	}
	for _, line := range []string{"", "\n", "cachewright \n", "cachewright", "hello\n", "Cachewright x\n", "cachewright a b\n", "cachewright a\r\n", "cachewright a\nb"} {
		if got, err := ParseStdinLine(line); err == nil {
			t.Errorf("ParseStdinLine(%q) = %q, want an error", line, got)
		}
	}
}

func TestTheHighestCommonVersionIsTaken(t *testing.T) {
	t.Parallel()
	if got, err := Negotiate(ProtocolMin, ProtocolMax+5); err != nil || got != ProtocolMax {
		t.Errorf("Negotiate = %d, %v", got, err)
	}
	for _, peer := range [][2]uint32{{ProtocolMax + 1, ProtocolMax + 2}, {0, 0}, {5, 1}} {
		_, err := Negotiate(peer[0], peer[1])
		if err == nil || !strings.Contains(err.Error(), "1 to 1") {
			t.Errorf("Negotiate(%v) = %v, want an error that names both ranges", peer, err)
		}
	}
}

func TestOneBuildHasOneID(t *testing.T) {
	t.Parallel()
	if id := BuildID(); len(id) != 32 || id != BuildID() {
		t.Errorf("BuildID = %q", id)
	}
}

func FuzzParseStdinLine(f *testing.F) {
	f.Add("cachewright ABC\n")
	f.Add("cachewright \x00\n")
	f.Add("cachewright a\n\n")
	f.Fuzz(func(t *testing.T, line string) {
		nonce, err := ParseStdinLine(line)
		if err == nil && StdinLine(nonce) != strings.TrimSuffix(line, "\n")+"\n" {
			t.Errorf("%q holds the nonce %q, which is written %q", line, nonce, StdinLine(nonce))
		}
		if err == nil && strings.ContainsAny(nonce, " \t\r\n") {
			t.Errorf("the nonce %q has blanks", nonce)
		}
	})
}
