package fastplane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// A desk is a handler whose calls the test ends: each waits for its context,
// unless its key has an answer.
type desk struct {
	manner  Manner
	seen    chan string          // keys, as calls begin
	ended   chan error           // what contexts said, as calls end
	ctxs    chan context.Context // of the calls that wait
	answers map[string]string
}

func newDesk(m Manner) *desk {
	return &desk{m, make(chan string, 64), make(chan error, 64), make(chan context.Context, 64), map[string]string{"easy": "v"}}
}

func (d *desk) Manner(uint64, Op) Manner { return d.manner }

func (d *desk) Handle(ctx context.Context, r *Request) Answer {
	return d.Together(ctx, []*Request{r})[0]
}

func (d *desk) Together(ctx context.Context, rs []*Request) []Answer {
	answers := make([]Answer, len(rs))
	for i, r := range rs {
		d.seen <- r.Key
		if v, ok := d.answers[r.Key]; ok {
			answers[i].Say(true)
			answers[i].Value = []byte(v)
			continue
		}
		d.ctxs <- ctx
		<-ctx.Done()
		d.ended <- ctx.Err()
		answers[i].Fail(ctx.Err())
	}
	return answers
}

func get(id uint64, key string) []byte { return request(id, Request{Op: OpGet, Store: 1, Key: key}) }

var badHosts = map[string][]byte{
	"uses a slot twice":                  get(5, "again"),
	"uses a slot twice, the second cut":  cut(kindRequest, 1, 5, 100, "first"),
	"uses a slot that there is not":      get(Slots, "k"),
	"answers":                            whole(kindAnswer, 2, 5, ""),
	"sends a kind that there is not":     whole(7, 1, 6, ""),
	"sends a frame of no length":         make([]byte, headerSize),
	"sends a frame without end":          append([]byte{0xff, 0xff, 0xff, 0xff}, get(6, "k")[4:]...),
	"names no store":                     whole(kindRequest, uint8(OpGet), 6, "1234567"),
	"names an operation that is none":    whole(kindRequest, 99, 6, strings.Repeat("\x00", 20)),
	"names operation 0":                  whole(kindRequest, 0, 6, strings.Repeat("\x00", 20)),
	"sends garbage":                      whole(kindRequest, uint8(OpSetMany), 6, strings.Repeat("\xff", 64)),
	"sends too little":                   get(6, "")[:headerSize+19],
	"announces too much":                 cut(kindRequest, uint8(OpSet), 6, maxBody+1, "v"),
	"continues what it has not begun":    more(6, "v"),
	"continues a call that is under way": more(5, "v"),
	"continues beyond the end":           append(cut(kindRequest, 2, 6, 3, "v"), more(6, "123")...),
	"continues with nothing":             append(cut(kindRequest, 2, 6, 3, "v"), more(6, "")...),
	"continues another use of the slot":  append(cut(kindRequest, 2, 6, 30, "v"), more(6+1<<32, "1")...),
	"begins twice":                       append(cut(kindRequest, 2, 6, 30, "v"), cut(kindRequest, 2, 6, 30, "v")...),
	"completes garbage":                  append(cut(kindRequest, 99, 6, 30, "v"), more(6, strings.Repeat("1", 29))...),
}

func init() { badHosts["sends too little"][0] = byte(headerSize + 19 - 4) }

func TestABadHostEndsTheServerAndItsCalls(t *testing.T) {
	t.Parallel()
	for name, sends := range badHosts {
		for _, manner := range []Manner{Apart, Together} {
			t.Run(fmt.Sprint(name, manner), func(t *testing.T) {
				t.Parallel()
				d := newDesk(manner)
				host, done := served(t, d)
				host.write(t, get(5, "waits"))
				await(t, d.seen)
				host.write(t, sends)
				if err := await(t, done); !errors.Is(err, errProtocol) {
					t.Errorf("Serve returned %v", err)
				}
				if err := await(t, d.ended); !errors.Is(err, context.Canceled) {
					t.Errorf("the call's context said %v", err)
				}
				if _, err := host.Read(make([]byte, 1)); err == nil {
					t.Error("the driver sent something more")
				}
			})
		}
	}
}

func TestAHostThatGoesAwayEndsTheCallsAndIsNoError(t *testing.T) {
	t.Parallel()
	for _, manner := range []Manner{Apart, Together} {
		d := newDesk(manner)
		d.answers["large"] = strings.Repeat("v", 4<<20)
		host, done := served(t, d)
		host.write(t, get(1, "waits"), get(2, "waits"), cut(kindRequest, 1, 3, 100, "part"), get(4, "large"))
		await(t, d.seen)
		must(t, host.Close()) // with answers unread
		if err := await(t, done); err != nil {
			t.Errorf("Serve returned %v", err)
		}
	}
}

func TestACancelledCallEndsAndIsAnswered(t *testing.T) {
	t.Parallel()
	for _, manner := range []Manner{Apart, Together} {
		d := newDesk(manner)
		host, _ := served(t, d)
		host.write(t, get(1<<32|3, "waits"))
		await(t, d.seen)
		ctx := await(t, d.ctxs)
		for _, other := range []uint64{3, 2<<32 | 3, 1<<32 | 4, 1<<32 | Slots - 1} { // not these
			host.write(t, whole(kindCancel, 0, other, ""))
		}
		host.write(t, get(9, "easy"))
		if f := host.next(t); f.id != 9 || ctx.Err() != nil {
			t.Fatalf("an answer to %#x came, and the context says %v", f.id, ctx.Err())
		}
		host.write(t, whole(kindCancel, 0, 1<<32|3, ""), whole(kindCancel, 0, 1<<32|3, "")) // twice
		checkCancelled(t, host.next(t), 1<<32|3)
		host.write(t, get(2<<32|3, "easy"))
		if f := host.next(t); f.id != 2<<32|3 || string(f.part) != "v" {
			t.Errorf("the slot's next call was answered with %#x, %q", f.id, f.part)
		}
	}
}

func checkCancelled(t *testing.T, f frame, id uint64) {
	t.Helper()
	a, err := parseAnswer(OpGet, Status(f.code), f.part)
	if f.id != id || err != nil || !errors.Is(a.Failure.Err(), context.Canceled) {
		t.Errorf("got an answer to %#x: %v, %v; want Canceled to %#x", f.id, a.Failure.Err(), err, id)
	}
}

// Calls that are made together have one context. It ends with the last of them.
func TestCallsMadeTogetherGoOnWhileOneIsWanted(t *testing.T) {
	t.Parallel()
	d := newDesk(Together)
	host, _ := served(t, d)
	host.write(t, get(1, "waits"), get(2, "waits"), get(3, "waits"))
	ctx := await(t, d.ctxs)
	for _, id := range []uint64{2, 2, 1, 2} { // saying it again changes nothing
		host.write(t, whole(kindCancel, 0, id, ""))
	}
	host.write(t, get(9, "easy"))
	if f := host.next(t); f.id != 9 || ctx.Err() != nil {
		t.Fatalf("an answer to %#x came, and the context says %v", f.id, ctx.Err())
	}
	host.write(t, whole(kindCancel, 0, 3, ""))
	for id := uint64(1); id <= 3; id++ {
		checkCancelled(t, host.next(t), id)
	}
}

func TestACutRequestThatIsCancelledIsAnswered(t *testing.T) {
	t.Parallel()
	d := newDesk(Apart)
	host, _ := served(t, d)
	host.write(t, cut(kindRequest, uint8(OpGet), 1<<32|3, 100, "first"), whole(kindCancel, 0, 1<<32|3, ""))
	checkCancelled(t, host.next(t), 1<<32|3)

	// The slot is free again; and a word about its last use, which comes late,
	// doesn't touch this one.
	body := string(bodyOf(&Request{Op: OpGet, Store: 1, Key: "easy"}))
	host.write(t, cut(kindRequest, uint8(OpGet), 2<<32|3, len(body), body[:5]),
		whole(kindCancel, 0, 1<<32|3, ""), more(2<<32|3, body[5:9]), more(2<<32|3, body[9:]))
	if f := host.next(t); f.id != 2<<32|3 || string(f.part) != "v" {
		t.Errorf("got an answer to %#x: %q", f.id, f.part)
	}
}

func TestADeadlineEndsACallInTheDriver(t *testing.T) {
	t.Parallel()
	for _, manner := range []Manner{Apart, Together} { // one that is made inline never waits
		d := newDesk(manner)
		host, _ := served(t, d)
		r := Request{Op: OpGet, Store: 1, Timeout: time.Millisecond, Key: "waits"}
		host.write(t, request(1, r), request(2, r))
		for range 2 {
			if err := await(t, d.ended); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			host.next(t)
		}
	}
}
