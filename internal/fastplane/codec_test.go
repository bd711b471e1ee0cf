package fastplane

import (
	"reflect"
	"testing"
	"time"
)

var requests = []Request{
	{Op: OpGet, Store: 7, Timeout: time.Second, Metadata: "meta", Key: "k"},
	{Op: OpSet, Store: 7, Key: "k", Value: []byte("value"), TTL: time.Minute},
	{Op: OpDelete, Key: "k"},
	{Op: OpAdd, Key: "k", Value: []byte{}, TTL: 1},
	{Op: OpReplace, Key: "k", Value: []byte("v")},
	{Op: OpPull, Key: "k"},
	{Op: OpIncrement, Key: "k", Delta: -3, TTL: time.Hour},
	{Op: OpCompareDelete, Key: "k", Value: []byte("v")},
	{Op: OpTTL, Key: "k"},
	{Op: OpTouch, Key: "k", TTL: 5},
	{Op: OpGetMany, Keys: []string{"a", "", "ccc"}},
	{Op: OpSetMany, Entries: []Entry{{"a", []byte("1"), 3}, {"bb", []byte{}, 0}}},
	{Op: OpDeleteMany, Keys: []string{"a", "b"}},
	{Op: OpAcquireLease, Key: "k", TTL: 3, Lease: Lease{"exclusive", "me", true}},
	{Op: OpRenewLease, Key: "k", TTL: 3, Lease: Lease{"lease", "me", false}},
	{Op: OpReleaseLease, Key: "k", TTL: 3, Lease: Lease{"exclusive", "me", false}},
}

func bodyOf(r *Request) []byte { return append(appendRequest(nil, r), r.Value...) }

func TestARequestIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, r := range requests {
		b := bodyOf(&r)
		if len(b) != requestSize(&r)+len(r.Value) {
			t.Errorf("operation %d: %d bytes, announced %d", r.Op, len(b), requestSize(&r)+len(r.Value))
		}
		got, err := parseRequest(r.Op, b)
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("operation %d: %+v, %v; want %+v", r.Op, got, err, r)
		}
	}
}

type answered struct {
	op Op
	a  Answer
}

var answers = []answered{
	{OpGet, Answer{Status: StatusYes, Value: []byte("value")}},
	{OpGet, Answer{Status: StatusNo}},
	{OpPull, Answer{Status: StatusYes, Value: []byte{}}},
	{OpSet, Answer{Status: StatusYes}},
	{OpGet, Answer{Status: StatusFailed, Failure: Failure{Names: "corrupt,internal", Message: "why"}}},
	{OpIncrement, Answer{Status: StatusYes, Number: -9}},
	{OpTTL, Answer{Status: StatusYes, TTL: time.Hour}},
	{OpAcquireLease, Answer{Status: StatusNo, Fence: 1 << 63, TTL: 3}},
	{OpGetMany, Answer{Status: StatusYes, Items: []Item{
		{}, {Found: true, Value: []byte{}}, {Found: true, Value: []byte("v")}, {Failure: &Failure{Names: "corrupt", Message: "m"}},
	}}},
	{OpSetMany, Answer{Status: StatusYes, Failures: []Failure{{2, "other", "m"}}}},
	{OpDeleteMany, Answer{Status: StatusYes, Number: 4, Failures: []Failure{}}},
}

func TestAnAnswerIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, c := range answers {
		b := append(appendAnswer([]byte{}, c.op, &c.a), c.a.Value...)
		if len(b) != answerSize(c.op, &c.a) {
			t.Errorf("operation %d: %d bytes, announced %d", c.op, len(b), answerSize(c.op, &c.a))
		}
		got, err := parseAnswer(c.op, c.a.Status, b)
		if err != nil || !reflect.DeepEqual(got, c.a) {
			t.Errorf("operation %d: %+v, %v; want %+v", c.op, got, err, c.a)
		}
	}
}

// What a peer sends may be anything: it is read without a panic and without
// more memory than it is long, and what can be read can be written again.
func FuzzRequest(f *testing.F) {
	for _, r := range requests {
		f.Add(uint8(r.Op), bodyOf(&r))
	}
	f.Fuzz(func(t *testing.T, op uint8, b []byte) {
		r, err := parseRequest(Op(op), b)
		if err != nil {
			return
		}
		again, err := parseRequest(Op(op), bodyOf(&r))
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%+v, written and read again: %+v, %v", r, again, err)
		}
	})
}

func FuzzAnswer(f *testing.F) {
	for _, c := range answers {
		f.Add(uint8(c.op), uint8(c.a.Status), append(appendAnswer(nil, c.op, &c.a), c.a.Value...))
	}
	f.Fuzz(func(t *testing.T, op, status uint8, b []byte) {
		a, err := parseAnswer(Op(op), Status(status), append([]byte{}, b...)) // a body is never nil
		if err != nil {
			return
		}
		again, err := parseAnswer(Op(op), a.Status, append(appendAnswer([]byte{}, Op(op), &a), a.Value...))
		if err != nil || !reflect.DeepEqual(again, a) {
			t.Errorf("%+v, written and read again: %+v, %v", a, again, err)
		}
	})
}

func FuzzFrame(f *testing.F) {
	f.Add(appendHeader(nil, kindCancel, 0, 9, 0, 0))
	f.Add(append(appendHeader(nil, kindRequest, 1, 9, 3, 10), "abc"...))
	f.Fuzz(func(t *testing.T, b []byte) {
		fr, n, err := parseFrame(b)
		switch {
		case err != nil:
			return
		case n > len(b) || n != 0 && n < headerSize:
			t.Errorf("%d of %d bytes", n, len(b))
		case n == 0 && len(b) >= maxFrame:
			t.Errorf("%d bytes hold no frame", len(b))
		case fr.size < len(fr.part) || fr.size > maxBody:
			t.Errorf("a body of %d bytes with a part of %d", fr.size, len(fr.part))
		}
	})
}
