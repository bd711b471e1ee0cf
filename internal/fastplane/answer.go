package fastplane

import (
	"encoding/binary"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
)

// A Status says how a call ended.
type Status uint8

const (
	StatusFailed Status = 1 // Failure says why
	StatusYes    Status = 2 // done: found, stored, existed, granted
	StatusNo     Status = 3 // done, and the answer is no
)

// An Answer is the outcome of one call. Which of the later fields count is the
// operation's matter.
type Answer struct {
	Status  Status
	Failure Failure

	Value    []byte        // what a read found; nobody changes it
	Number   int64         // a sum, or how many existed
	TTL      time.Duration // what an entry has left, or a lease
	Fence    uint64
	Items    []Item
	Failures []Failure // of single keys of a batch
}

// A Failure is an error as it travels: the names of its sentinels and its
// words.
type Failure struct {
	Index   int // of the key in its batch
	Names   string
	Message string
}

// An Item is what a batch found under one key.
type Item struct {
	Found   bool
	Value   []byte
	Failure *Failure
}

// Err is the failure as an error.
func (f *Failure) Err() error { return wire.FromNames(f.Names, f.Message) }

// Fail makes the answer that of a call that failed with err.
func (a *Answer) Fail(err error) {
	e := wire.Encode(err)
	*a = Answer{Status: StatusFailed, Failure: Failure{Names: e.Names(), Message: e.Message}}
}

// Say makes the answer yes or no.
func (a *Answer) Say(yes bool) {
	a.Status = StatusNo
	if yes {
		a.Status = StatusYes
	}
}

// Yes reports whether the answer is yes.
func (a *Answer) Yes() bool { return a.Status == StatusYes }

// bringsValue says that the body of the operation's answer is a value.
func bringsValue(op Op) bool { return op == OpGet || op == OpPull }

// bringsValues says that the caller keeps bytes of the body of the operation's
// answer.
func bringsValues(op Op) bool { return bringsValue(op) || op == OpGetMany }

// appendAnswer appends the body of an answer, but for a value alone.
func appendAnswer(b []byte, op Op, a *Answer) []byte {
	if a.Status == StatusFailed {
		return append(appendText(b, a.Failure.Names), a.Failure.Message...)
	}
	switch op {
	case OpIncrement:
		return appendInt(b, a.Number)
	case OpTTL:
		return appendInt(b, int64(a.TTL))
	case OpAcquireLease, OpRenewLease:
		return appendInt(appendInt(b, int64(a.Fence)), int64(a.TTL))
	case OpGetMany:
		return appendItems(b, a.Items)
	case OpSetMany, OpDeleteMany:
		return appendFailures(appendInt(b, a.Number), a.Failures)
	}
	return b
}

// answerSize is how long the body of an answer is, with its value.
func answerSize(op Op, a *Answer) int {
	if a.Status == StatusFailed {
		return 4 + len(a.Failure.Names) + len(a.Failure.Message)
	}
	switch op {
	case OpIncrement, OpTTL:
		return 8
	case OpAcquireLease, OpRenewLease:
		return 16
	case OpGetMany:
		return itemsSize(a.Items)
	case OpSetMany, OpDeleteMany:
		n := 8 + 4
		for i := range a.Failures {
			n += 4 + 4 + len(a.Failures[i].Names) + 4 + len(a.Failures[i].Message)
		}
		return n
	}
	return len(a.Value)
}

// parseAnswer is the inverse of appendAnswer with the value behind it. Values
// alias b.
func parseAnswer(op Op, s Status, b []byte) (a Answer, err error) {
	c := cursor{rest: b}
	a.Status = s
	switch {
	case s < StatusFailed || s > StatusNo:
		return a, broken("an answer with status %d", s)
	case s == StatusFailed:
		a.Failure = Failure{Names: c.text(), Message: string(c.all())}
	case op == OpIncrement:
		a.Number = c.int()
	case op == OpTTL:
		a.TTL = time.Duration(c.int())
	case op == OpAcquireLease, op == OpRenewLease:
		a.Fence, a.TTL = uint64(c.int()), time.Duration(c.int())
	case op == OpGetMany:
		a.Items = c.items()
	case op == OpSetMany, op == OpDeleteMany:
		a.Number, a.Failures = c.int(), c.failures()
	case bringsValue(op) && s == StatusYes:
		a.Value = c.all()
	}
	if c.short || len(c.rest) > 0 {
		return a, broken("an answer to %d of %d bytes that can't be read", op, len(b))
	}
	return a, nil
}

const (
	itemMiss   = 0
	itemHit    = 1
	itemFailed = 2
)

func appendItems(b []byte, items []Item) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(items)))
	for i := range items {
		switch item := &items[i]; {
		case item.Failure != nil:
			b = append(b, itemFailed)
			b = appendText(appendText(b, item.Failure.Names), item.Failure.Message)
		case item.Found:
			b = append(b, itemHit)
			b = binary.LittleEndian.AppendUint32(b, uint32(len(item.Value)))
			b = append(b, item.Value...)
		default:
			b = append(b, itemMiss)
		}
	}
	return b
}

func (c *cursor) items() []Item {
	items := make([]Item, c.count(1))
	for i := range items {
		switch c.byte() {
		case itemMiss:
		case itemHit:
			items[i] = Item{Found: true, Value: c.bytes()}
		case itemFailed:
			items[i].Failure = &Failure{Names: c.text(), Message: c.text()}
		default:
			c.short = true
		}
	}
	return items
}

func itemsSize(items []Item) int {
	n := 4
	for i := range items {
		n++
		if f := items[i].Failure; f != nil {
			n += 4 + len(f.Names) + 4 + len(f.Message)
		} else if items[i].Found {
			n += 4 + len(items[i].Value)
		}
	}
	return n
}

func appendFailures(b []byte, failures []Failure) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(failures)))
	for i := range failures {
		f := &failures[i]
		b = binary.LittleEndian.AppendUint32(b, uint32(f.Index))
		b = appendText(appendText(b, f.Names), f.Message)
	}
	return b
}

func (c *cursor) failures() []Failure {
	failures := make([]Failure, c.count(4+4+4))
	for i := range failures {
		failures[i] = Failure{Index: c.size(), Names: c.text(), Message: c.text()}
	}
	return failures
}
