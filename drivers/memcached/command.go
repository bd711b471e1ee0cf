package memcached

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/bradfitz/gomemcache/memcache"
)

// A command is a write that the server answers by one line, and that has the
// same effect again. gomemcache would wait for each line; commands of several
// callers, or of a batch, go out together.
type command struct {
	line string
	item []byte
	size int // of key and item; 0: there is no item
}

// set stores the item, whatever was there.
func (w write) set() command {
	line := fmt.Sprintf("set %s 0 %d %d\r\n", w.name, w.expiration, len(w.item))
	return command{line, w.item, len(w.name) + len(w.item)}
}

// remove deletes whatever has the name.
func remove(name string) command { return command{line: "delete " + name + "\r\n"} }

func (c command) write(to *bufio.Writer) {
	to.WriteString(c.line) // the flush at the end tells of errors
	if c.size > 0 {
		to.Write(c.item)
		to.WriteString("\r\n")
	}
}

var (
	errUnanswered = errors.New("there is no answer yet")
	errDistrust   = errors.New("the server has not understood a command")
	errNonsense   = errors.New("the answer is none of memcached's")
)

// read reads the answer to a command. The result is nil, memcache.ErrCacheMiss
// or for the caller of the store. An error says that what follows on the
// connection can't be trusted.
func (l *lane) read(c command) (result, err error) {
	line, err := l.in.ReadSlice('\n')
	if err != nil {
		return errUnanswered, err
	}
	switch text := trimLine(line); {
	case text == "STORED" || text == "DELETED":
		return nil, nil
	case text == "NOT_FOUND":
		return memcache.ErrCacheMiss, nil
	case isServerError(text):
		return l.server.refuses(text, c.size+itemOverhead), nil
	case isRefusal(text):
		return l.server.refuses(text, c.size+itemOverhead), errDistrust
	}
	return errUnanswered, errNonsense
}

// obey has commands executed, again where there is no answer, and returns the
// result of each.
func (s *server) obey(ctx context.Context, commands ...command) (results []error) {
	results = unanswered(len(commands))
	unsure := false
	for losses := 1; ; losses++ {
		j := &job{waiter: newWaiter(), commands: commands, results: unanswered(len(commands))}
		err := s.attempt(ctx, j, true)
		if err == nil {
			fill(results, j.results)
			commands, err = due(commands, j.results), j.err
		}
		lost, isLost := errors.AsType[*lostError](err)
		unsure = unsure || isLost && lost.sent
		switch {
		case len(commands) == 0:
			return results
		case !isLost:
			return fillRest(results, doubtful(err, unsure))
		case losses == mostLosses:
			return fillRest(results, lost.surely(unsure))
		}
	}
}

func unanswered(n int) []error {
	results := make([]error, n)
	for i := range results {
		results[i] = errUnanswered
	}
	return results
}

// fill puts the results of those commands in their places that were sent
// because they had none.
func fill(results, more []error) {
	next := 0
	for i, result := range results {
		if result == errUnanswered {
			results[i] = more[next]
			next++
		}
	}
}

// fillRest gives an error to all commands that have no answer.
func fillRest(results []error, err error) []error {
	for i, result := range results {
		if result == errUnanswered {
			results[i] = err
		}
	}
	return results
}

// due are the commands that have no answer.
func due(commands []command, results []error) []command {
	var left []command
	for i, c := range commands {
		if results[i] == errUnanswered {
			left = append(left, c)
		}
	}
	return left
}
