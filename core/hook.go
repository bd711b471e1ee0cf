package core

import "context"

// An Op names an operation, in errors and to hooks.
type Op string

const (
	OpGet        Op = "get"
	OpSet        Op = "set"
	OpHas        Op = "has"
	OpDelete     Op = "delete"
	OpClear      Op = "clear"
	OpGetMany    Op = "get-many"
	OpSetMany    Op = "set-many"
	OpDeleteMany Op = "delete-many"
	OpPull       Op = "pull"
	OpAdd        Op = "add"
	OpReplace    Op = "replace"
	OpIncrement  Op = "increment"
	OpTTL        Op = "ttl"
	OpTouch      Op = "touch"
	OpKeys       Op = "keys"
	OpPing       Op = "ping"
	OpStats      Op = "stats"
	OpOpen       Op = "open"
	// OpRemember is Remember in its errors, which say of what it did which part
	// failed. Hooks meet the parts: get, set, lock and load.
	OpRemember Op = "remember"
	// OpLock is one Do, from entry to exit.
	OpLock Op = "lock"
	// OpLockWait is the entry into a lock, inside OpLock: its end is that the
	// block may run, or the error that says why not.
	OpLockWait Op = "lock-wait"
	// OpRecompute is Remember finding an entry that it can't use: its error
	// says why. The entry is computed anew and overwritten.
	OpRecompute Op = "recompute"
	// OpLoad is one detached resolver of Remember, from its start to its end,
	// with what it read and stored.
	OpLoad Op = "load"
	// OpStale is Remember serving a value past its TTL: its error says why.
	OpStale Op = "stale"
)

// A Call is one operation on a store. Remember is a get and a set, and what its
// options add; Clear and Keys are a call per page.
type Call struct {
	Op     Op
	Store  string
	Driver string
	Key    string // as the caller gave it; "" for operations without one key
	Keys   int    // how many keys the call is about
}

// An Outcome is how a call ended.
type Outcome struct {
	Hits  int // keys that were found, of reads
	Bytes int // bytes of the values read or written, as the codec made them
	Err   error
}

// A Hook meets every call of a manager: telemetry, degradation and faults for
// tests have no other place. Methods are called concurrently and must not block.
type Hook interface {
	// Start returns the call's context, which may be another but never nil, or
	// refuses the call with an error.
	Start(ctx context.Context, c Call) (context.Context, error)
	// End returns the error that the caller gets, usually o.Err. A read whose
	// error it takes away is a miss. It follows every Start that succeeded.
	End(ctx context.Context, c Call, o Outcome) error
}

// startHooks runs the hooks in order. The returned number of them has started.
func startHooks(ctx context.Context, hooks []Hook, c Call) (context.Context, int, error) {
	for i, h := range hooks {
		started, err := h.Start(ctx, c)
		if err != nil {
			return ctx, i, err
		}
		ctx = started
	}
	return ctx, len(hooks), nil
}

// endHooks ends those that have started, the last first.
func endHooks(ctx context.Context, hooks []Hook, c Call, o Outcome) error {
	for i := len(hooks) - 1; i >= 0; i-- {
		o.Err = hooks[i].End(ctx, c, o)
	}
	return o.Err
}
