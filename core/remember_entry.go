package core

import (
	"context"
	"time"
)

// An entry is what Remember read.
type entry struct {
	Value
	envelope
	state entryState
}

type entryState int

const (
	stateMiss   entryState = iota
	stateFresh             // a value within its TTL
	stateStale             // a value past it, which StaleFor serves
	stateAbsent            // that the resolver found nothing
)

// look reads the entry. What can't be read, or is of another type, is a miss
// that hooks count.
func (l *load) look(ctx context.Context) (entry, error) {
	e, err := l.readEntry(ctx)
	if err == nil && e.Found() {
		err = l.accept(e.Value)
	}
	switch {
	case err == nil:
		return e, nil
	case unusable(err):
		l.note(ctx, OpRecompute, l.key, err)
		return entry{}, nil
	}
	return entry{}, inRemember(err)
}

func (l *load) readEntry(ctx context.Context) (entry, error) {
	c, err := l.store.begin(ctx, OpGet, l.key, 1)
	if err != nil {
		return entry{}, l.store.forgive(ctx, OpGet, err)
	}
	data, ok, err := c.opened.Get(c.ctx, c.physical)
	if err == nil {
		data, err = l.store.unseal(c.physical, data, ok)
	}
	var e entry
	if err == nil && ok {
		e.envelope, err = unsealed(data)
	}
	if err == nil && ok {
		e.state = l.judge(e.envelope)
	}
	o := Outcome{Err: err}
	if e.state == stateFresh {
		o.Hits, o.Bytes = 1, len(e.payload)
	}
	if err := c.end(o); err != nil {
		return entry{}, err
	}
	e.Value = l.value(l.key, e.payload, int64(unixMilli(e.envelope.due)), e.state == stateFresh || e.state == stateStale)
	return e, nil
}

func (l *load) judge(e envelope) entryState {
	past := e.past(time.Now())
	switch {
	case e.kind == kindAbsent && !past && l.negative > 0:
		return stateAbsent
	case e.kind == kindAbsent:
		return stateMiss
	case !past:
		return stateFresh
	case l.policy.stale > 0:
		return stateStale
	}
	return stateMiss
}
