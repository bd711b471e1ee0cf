package sdk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/cachewright/cachewright/internal/fastplane"
	"github.com/cachewright/cachewright/internal/wire"
)

// planeDescriptor is where a host puts the socket of the fast plane, if it
// offers one.
const planeDescriptor = 3

// startPlane serves the fast plane if the host offers one that this driver
// speaks. What is wrong with it is no reason to fail: gRPC is there.
func (s *server) startPlane(offered string) {
	if offered == "" {
		return
	}
	socket, err := fastplane.Inherited(planeDescriptor)
	if err == nil && offered != fastplane.Version {
		_ = socket.Close() // nobody speaks over it
		return
	}
	if err == nil {
		err = s.servePlane(socket)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "no fast plane: %v\n", err)
	}
}

// servePlane serves the fast plane over socket, which it takes over, until stop.
func (s *server) servePlane(socket *net.UnixConn) error {
	plane, err := fastplane.NewServer(socket, planeCalls{s})
	if err != nil {
		return err
	}
	s.plane, s.planeEnded = plane, make(chan struct{})
	go func() {
		defer close(s.planeEnded)
		if err := plane.Serve(); err != nil {
			fmt.Fprintf(os.Stderr, "the fast plane ended: %v\n", err)
		}
	}()
	return nil
}

// stopPlane ends the fast plane once the last answers are out.
func (s *server) stopPlane(ctx context.Context) {
	if s.plane == nil {
		return
	}
	s.plane.Close(ctx)
	select {
	case <-s.planeEnded:
	case <-ctx.Done(): // a call that ignores its context
	}
}

// planeCalls makes the calls that the fast plane brings.
type planeCalls struct{ *server }

// Manner is as the store has announced.
func (s planeCalls) Manner(store uint64, op fastplane.Op) fastplane.Manner {
	in, err := s.stores.find(store)
	if err != nil {
		return fastplane.Inline // it fails at once
	}
	switch in.traits.Dispatch {
	case DispatchInline:
		if single(op) {
			return fastplane.Inline
		}
	case DispatchTogether:
		if (op == fastplane.OpGet || op == fastplane.OpSet) && in.batcher != nil {
			return fastplane.Together
		}
	}
	return fastplane.Apart
}

// single reports whether the operation is about one key.
func single(op fastplane.Op) bool {
	return op != fastplane.OpGetMany && op != fastplane.OpSetMany && op != fastplane.OpDeleteMany
}

// Handle makes one call.
func (s planeCalls) Handle(ctx context.Context, r *fastplane.Request) (a fastplane.Answer) {
	a, err := s.doSafely(ctx, r)
	if err != nil {
		a.Fail(err)
	}
	return a
}

func (s planeCalls) doSafely(ctx context.Context, r *fastplane.Request) (a fastplane.Answer, err error) {
	defer recoverAs(&err, "a call")
	return s.do(traced(ctx, r), r)
}

// traced gives the call the trace context that it brought.
func traced(ctx context.Context, r *fastplane.Request) context.Context {
	if r.Metadata == "" {
		return ctx
	}
	return wire.WithIncomingTrace(ctx, wire.ParseTrace(r.Metadata))
}

// Together makes single calls as one batch; their trace context is the same.
func (s planeCalls) Together(ctx context.Context, rs []*fastplane.Request) (answers []fastplane.Answer) {
	answers = make([]fastplane.Answer, len(rs))
	if err := s.together(traced(ctx, rs[0]), rs, answers); err != nil {
		for i := range answers {
			answers[i].Fail(err)
		}
	}
	return answers
}

func (s planeCalls) together(ctx context.Context, rs []*fastplane.Request, answers []fastplane.Answer) (err error) {
	defer recoverAs(&err, "calls")
	in, err := s.stores.find(rs[0].Store)
	if err != nil {
		return err
	}
	good := make([]int, 0, len(rs)) // those that the store may meet
	for i, r := range rs {
		if err := checkCall(r); err != nil {
			answers[i].Fail(err)
			continue
		}
		good = append(good, i)
	}
	ctx = traced(ctx, rs[0]) // they all have the same
	if rs[0].Op == fastplane.OpGet {
		return getTogether(ctx, in, rs, good, answers)
	}
	return setTogether(ctx, in, rs, good, answers)
}

func getTogether(ctx context.Context, in *Instance, rs []*fastplane.Request, good []int, answers []fastplane.Answer) error {
	keys := make([]string, len(good))
	for n, i := range good {
		keys[n] = rs[i].Key
	}
	found, err := in.GetMany(ctx, keys)
	if err != nil {
		return err
	}
	for n, i := range good {
		if err := joined(found[n].Err, checkSize(found[n].Value)); err != nil {
			answers[i].Fail(err)
			continue
		}
		answers[i].Say(found[n].OK)
		answers[i].Value = found[n].Value
	}
	return nil
}

func setTogether(ctx context.Context, in *Instance, rs []*fastplane.Request, good []int, answers []fastplane.Answer) error {
	entries := make([]Entry, len(good))
	for n, i := range good {
		entries[n] = Entry{Key: rs[i].Key, Value: rs[i].Value, TTL: rs[i].TTL}
	}
	err := in.SetMany(ctx, entries)
	failed := make(map[string]error)
	if batch, ok := errors.AsType[*BatchError](err); ok {
		for _, f := range batch.Failed {
			failed[f.Key] = f.Err
		}
	} else if err != nil {
		return err
	}
	for _, i := range good {
		if err := failed[rs[i].Key]; err != nil {
			answers[i].Fail(err)
			continue
		}
		answers[i].Say(true)
	}
	return nil
}
