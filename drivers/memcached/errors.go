package memcached

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/cachewright/cachewright/sdk"
)

// A lostError says that an exchange has no answer. The cause goes out as text
// only, since a time limit of the driver's own is not the caller's.
type lostError struct {
	server string
	cause  error
	sent   bool // the request may have reached the server
	maybe  bool // it was a write that may have been executed
}

func (e *lostError) Error() string {
	if e.maybe {
		return fmt.Sprintf("%s: %v: %v", e.server, sdk.ErrMaybeApplied, e.cause)
	}
	return fmt.Sprintf("%s: %v: %v", e.server, sdk.ErrUnavailable, e.cause)
}

// Is matches what the loss means for the caller.
func (e *lostError) Is(target error) bool {
	if e.maybe {
		return target == sdk.ErrMaybeApplied
	}
	return target == sdk.ErrUnavailable
}

// surely is the loss as a caller meets it, who knows whether anything may have
// been executed.
func (e *lostError) surely(maybe bool) error {
	return &lostError{server: e.server, cause: e.cause, sent: e.sent, maybe: maybe}
}

// isAnswer tells the answers that gomemcache reports as errors.
func isAnswer(err error) bool {
	switch err {
	case nil, memcache.ErrCacheMiss, memcache.ErrNotStored, memcache.ErrCASConflict:
		return true
	}
	return false
}

// isRefusal tells whether a line is one of those by which a server says that
// it has done nothing.
func isRefusal(line string) bool {
	return line == "ERROR" || strings.HasPrefix(line, "ERROR ") ||
		isServerError(line) || strings.HasPrefix(line, "CLIENT_ERROR ")
}

func isServerError(line string) bool { return strings.HasPrefix(line, "SERVER_ERROR ") }

// trimLine takes the end off a line.
func trimLine(line []byte) string { return strings.TrimRight(string(line), "\r\n") }

// refusal returns the line of an answer that is a refusal.
func refusal(head []byte) (line string, ok bool) {
	line, _, whole := strings.Cut(string(head), "\r\n")
	return line, whole && isRefusal(line)
}

// refuses words a refusal.
func (s *server) refuses(line string, size int) error {
	switch {
	case strings.HasPrefix(line, "SERVER_ERROR object too large"):
		return s.tooLarge(size)
	case strings.HasPrefix(line, "SERVER_ERROR out of memory"):
		return fmt.Errorf("%s: %w: %s: the server has no room for items of this size; give it more memory (-m)", s.at.name, sdk.ErrUnavailable, line)
	case strings.HasPrefix(line, "CLIENT_ERROR flush_all not allowed"):
		return fmt.Errorf("%s: %w: the server runs without flush_all (-F)", s.at.name, errors.ErrUnsupported)
	case strings.HasPrefix(line, "SERVER_ERROR"):
		return fmt.Errorf("%s: %w: %s", s.at.name, sdk.ErrUnavailable, line)
	}
	return fmt.Errorf("%s: the server refuses: %s", s.at.name, line)
}

// tooLarge is the error of an item that the server doesn't take.
func (s *server) tooLarge(size int) error {
	limit := "is not known"
	if known := s.limit.Load(); known > 0 {
		limit = "is " + sdk.Bytes(known).String()
	}
	return fmt.Errorf("%s: %w: with key and headers it is an item of %d bytes; the server's limit %s (-I)", s.at.name, sdk.ErrTooLarge, size, limit)
}

// unavailable words why a server can't be reached.
func (s *server) unavailable(cause error, advice string) error {
	if errors.Is(cause, errors.ErrUnsupported) {
		return fmt.Errorf("%s: %w: %w%s", s.at.name, sdk.ErrUnavailable, cause, advice)
	}
	return fmt.Errorf("%s: %w: %v%s", s.at.name, sdk.ErrUnavailable, cause, advice)
}
