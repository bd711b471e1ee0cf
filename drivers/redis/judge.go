package redis

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cachewright/cachewright/sdk"
	"github.com/redis/go-redis/v9"
)

// A verdict is what an attempt's error means for the next one.
type verdict int

const (
	fine      verdict = iota // answered
	failed                   // answered by an error that another attempt does not change
	refused                  // not executed; may be later
	elsewhere                // not executed; the key is another node's
	ask                      // not executed; the key is on its way to another node
	lost                     // no answer
)

// transient are the beginnings of answers by which a server says that it
// executed nothing and that this may pass; and what can be done if it doesn't.
var transient = []struct{ word, advice string }{
	{"LOADING ", ""},
	{"READONLY ", "give the master's address, or the option sentinel"},
	{"MASTERDOWN ", ""},
	{"CLUSTERDOWN ", ""},
	{"TRYAGAIN ", ""},
	{"NOREPLICAS ", "see min-replicas-to-write of the server"},
	{"BUSY ", "a script of somebody's runs for long"},
	{"ERR max number of clients reached", "see maxclients of the server"},
}

// judge is the one table between what go-redis reports and what is done.
func judge(err error) verdict {
	if err == nil || err == redis.Nil {
		return fine
	}
	return judgeFailure(err)
}

func judgeFailure(err error) verdict {
	var reply redis.Error
	var no *refusal
	switch {
	case errors.As(err, &no), errors.Is(err, sdk.ErrOverloaded), errors.Is(err, sdk.ErrClosed):
		return failed
	case !errors.As(err, &reply):
		return lost
	}
	if _, moved := redis.IsMovedError(err); moved {
		return elsewhere
	}
	if _, asked := redis.IsAskError(err); asked {
		return ask
	}
	for _, t := range transient {
		if says(reply.Error(), t.word) {
			return refused
		}
	}
	return failed
}

// passing words a refusal that has not passed.
func passing(srv *server, err error) error {
	for _, t := range transient {
		if says(err.Error(), t.word) {
			return srv.says(sdk.ErrUnavailable, err, t.advice)
		}
	}
	return srv.says(sdk.ErrUnavailable, err, "")
}

// says looks for a word at the beginning of an answer, or where Redis 6.2 puts
// it when the answer is a script's.
func says(answer, word string) bool {
	return strings.HasPrefix(answer, word) || strings.HasPrefix(answer, "@user_script") && strings.Contains(answer, ": -"+word)
}

// errNoScript is a script that the server doesn't know, or not any more.
var errNoScript = errors.New("no such script")

// errNotAllowed is a command that the user may not give.
var errNotAllowed = errors.New("not allowed")

// answers ties what is found in an answer to what callers may match, and to
// what can be done about it.
var answers = []struct {
	text   string
	kind   error
	advice string
}{
	{"WRONGTYPE", sdk.ErrCorrupt, "the key holds another type of Redis than it should"},
	{"value is not an integer or out of range", sdk.ErrNotInteger, ""},
	{"hash value is not an integer", sdk.ErrNotInteger, ""},
	{"increment or decrement would overflow", sdk.ErrOverflow, ""},
	{"NOSCRIPT", errNoScript, ""},
	{"invalid bulk length", sdk.ErrTooLarge, "see proto-max-bulk-len of the server"},
	{"string exceeds maximum allowed size", sdk.ErrTooLarge, "see proto-max-bulk-len of the server"},
	{"OOM", nil, "the server is full and evicts nothing: raise maxmemory, or choose a maxmemory-policy that evicts"},
	{"NOAUTH", nil, "give the options username and password"},
	{"WRONGPASS", nil, "check the options username and password"},
	{"NOPERM", errNotAllowed, "grant the user what docs/redis.md lists"},
	{"MISCONF", nil, "the server can't save its data and takes no writes"},
	{"cluster support disabled", nil, "the server is no Cluster: give addr instead of cluster.addrs"},
}

// explain words an error that is final.
func explain(srv *server, err error) error {
	var no *refusal
	if errors.As(err, &no) {
		return &refusal{reason: srv.name + ": " + no.reason, kind: no.kind}
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return fmt.Errorf("%s: %w", srv.name, err)
	}
	for _, answer := range answers {
		if strings.Contains(reply.Error(), answer.text) {
			return srv.says(answer.kind, err, answer.advice)
		}
	}
	return srv.says(nil, err, "")
}

// scrub is an error's text. It removes from a server's words what they may
// repeat: the arguments of a command that it doesn't know, and passwords.
func (s settings) scrub(err error) string {
	var reply redis.Error
	var dial errDial
	if !errors.As(err, &reply) && !(errors.As(err, &dial) && errors.As(dial.cause, &reply)) {
		return err.Error()
	}
	text, _, _ := strings.Cut(err.Error(), ", with args beginning with")
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, "…")
	}
	return text
}
