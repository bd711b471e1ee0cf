package host

import (
	"io"
	"regexp"
)

// handshakeWindow is how much of a line's end is searched for the handshake.
const handshakeWindow = 8 << 10

// A handshake line is `1|1|unix|ADDRESS|grpc|CERTIFICATE`. It may follow other
// output on the same line, since whatever runs before the driver may have
// printed half a line.
var handshakePattern = regexp.MustCompile(`[0-9]\|[0-9]+\|(?:unix|tcp)\|[^|]+(?:\|[^|]*)*$`)

// filterStdout reads a driver's stdout until it ends. The first handshake goes
// to handshake; every other line is noise. It never stops reading, so that a
// driver that goes on printing never blocks.
func filterStdout(stdout io.Reader, handshake func(string), noise func(line)) {
	found := false
	eachLine(stdout, handshakeWindow, func(l line) {
		at := handshakePattern.FindIndex(l.tail)
		if found || at == nil {
			noise(l)
			return
		}
		found = true
		if at[0] > 0 {
			noise(line{head: l.tail[:at[0]], tail: l.tail[:at[0]], size: at[0]})
		}
		handshake(string(l.tail[at[0]:]))
	})
}
