package sdk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
)

const maxKey = wire.MaxKey

// An Instance is an opened store as hosts meet it: every operation is there,
// and what the store did not announce is refused with errors.ErrUnsupported. A
// panic in the store becomes ErrInternal. Methods are as the interfaces of this
// package describe them.
type Instance struct {
	store        Store
	traits       Traits
	capabilities Capabilities
	optional

	closing context.Context // done once Close has been called; ends lease waits
	refuse  func()          // starts the closing, once
	calls   atomic.Int64    // how many are running; negative once no other is admitted
	finish  func()          // closes the store, once, and then done
	done    chan struct{}
	err     error // the store's from closing, readable once done is closed
}

// admitsNone is added to Instance.calls to make it negative.
const admitsNone = math.MinInt64

// optional holds what the store announced; a nil interface was not announced.
type optional struct {
	adder     Adder
	replacer  Replacer
	puller    Puller
	counter   Counter
	comparer  CompareDeleter
	batcher   Batcher
	clearer   Clearer
	inspector Inspector
	lister    Lister
	leaser    Leaser
	renewer   LeaseRenewer
	waiter    LeaseWaiter
	pinger    Pinger
	reporter  StatsReporter
}

func newInstance(s Store) *Instance {
	in := &Instance{store: s, done: make(chan struct{})}
	closing, shut := context.WithCancel(context.Background())
	in.closing = closing
	in.refuse = sync.OnceFunc(func() {
		shut()
		in.leave(admitsNone)
	})
	in.finish = sync.OnceFunc(func() { go in.closeStore() })
	if r, ok := s.(TraitReporter); ok {
		in.traits = r.Traits()
	}
	in.traits = in.traits.WithDefaults()
	in.capabilities = discover(s, in.traits.Withdrawn)
	in.optional = optional{
		adder:     announced[Adder](in, CanAdd),
		replacer:  announced[Replacer](in, CanReplace),
		puller:    announced[Puller](in, CanPull),
		counter:   announced[Counter](in, CanIncrement),
		comparer:  announced[CompareDeleter](in, CanCompareDelete),
		batcher:   announced[Batcher](in, CanBatch),
		clearer:   announced[Clearer](in, CanClear),
		inspector: announced[Inspector](in, CanInspect),
		lister:    announced[Lister](in, CanList),
		leaser:    announced[Leaser](in, CanLease),
		renewer:   announced[LeaseRenewer](in, CanRenewLease),
		waiter:    announced[LeaseWaiter](in, CanWaitLease),
		pinger:    announced[Pinger](in, CanPing),
		reporter:  announced[StatsReporter](in, CanReport),
	}
	return in
}

func announced[T any](in *Instance, c Capability) T {
	var none T
	if !in.capabilities.Has(c) {
		return none
	}
	return in.store.(T)
}

// Traits are what the store announced, with the defaults filled in.
func (in *Instance) Traits() Traits { return in.traits }

// Capabilities are what the store announced.
func (in *Instance) Capabilities() Capabilities { return in.capabilities }

// Close ends lease waits, lets other calls end, and closes the store. Later
// calls fail with ErrClosed. When ctx ends first, Close returns its error and
// the store is closed as the last call returns. Closing again waits for the
// same end.
func (in *Instance) Close(ctx context.Context) error {
	in.refuse()
	select {
	case <-in.done:
		return in.err
	case <-ctx.Done():
		return fmt.Errorf("the store is still closing: %w", ctx.Err())
	}
}

// closeStore runs once, after the last call has returned.
func (in *Instance) closeStore() {
	defer close(in.done)
	defer recoverAs(&in.err, "close")
	in.err = in.store.Close()
}

// begin admits a call. Every call that it admits ends with end or endWrite,
// deferred.
func (in *Instance) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if in.calls.Add(1) < 0 {
		in.leave(-1)
		return ErrClosed
	}
	return nil
}

// leave changes the number of calls, and closes the store if that was the last
// one of a closing instance.
func (in *Instance) leave(change int64) {
	if in.calls.Add(change) == admitsNone {
		in.finish()
	}
}

func (in *Instance) end(op string, err *error) {
	in.leave(-1)
	if p := recover(); p != nil {
		*err = panicked(op, p)
	}
}

// endWrite is end for a call that changes something: where it panicked, nobody
// knows how far it had come.
func (in *Instance) endWrite(op string, err *error) {
	in.leave(-1)
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %w", ErrMaybeApplied, panicked(op, p))
	}
}

// recoverAs turns a panic into an error; it is for defer.
func recoverAs(err *error, op string) {
	if p := recover(); p != nil {
		*err = panicked(op, p)
	}
}

// panicked keeps the panic's value out of the error, since it may hold a
// cached value or a secret; the log of the driver has it, in one record.
func panicked(op string, p any) error {
	slog.New(slog.NewJSONHandler(os.Stderr, nil)).Error(fmt.Sprintf("panic in %s: %v", op, p), "stack", string(debug.Stack()))
	return fmt.Errorf("%w: panic in %s; the driver's log has the trace", ErrInternal, op)
}

func unsupported(c Capability) error {
	what := string(c)
	switch c {
	case CanInspect:
		what = "TTL and no Touch"
	case CanList:
		what = "list of its keys"
	case CanIncrement:
		what = "counters"
	}
	return fmt.Errorf("the store has no %s: %w", what, errors.ErrUnsupported)
}

// Get is Store's.
func (in *Instance) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	if err := in.begin(ctx); err != nil {
		return nil, false, err
	}
	defer in.end("get", &err)
	return in.store.Get(ctx, key)
}

// Set is Store's.
func (in *Instance) Set(ctx context.Context, key string, value []byte, ttl time.Duration) (err error) {
	if err := in.begin(ctx); err != nil {
		return err
	}
	defer in.endWrite("set", &err)
	return in.store.Set(ctx, key, value, ttl)
}

// Delete is Store's.
func (in *Instance) Delete(ctx context.Context, key string) (existed bool, err error) {
	if err := in.begin(ctx); err != nil {
		return false, err
	}
	defer in.endWrite("delete", &err)
	return in.store.Delete(ctx, key)
}
