package drivertest

import (
	"context"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// An operation is one method of a store, called so that it would work.
type operation struct {
	name  string
	needs sdk.Capability // "": every store has it
	call  func(ctx context.Context, s Store, key string) error
}

// operations are all methods of a store but Close.
var operations = []operation{
	{"Get", "", func(ctx context.Context, s Store, key string) error {
		_, _, err := s.Get(ctx, key)
		return err
	}},
	{"Set", "", func(ctx context.Context, s Store, key string) error {
		return s.Set(ctx, key, []byte("1"), time.Hour)
	}},
	{"Delete", "", func(ctx context.Context, s Store, key string) error {
		_, err := s.Delete(ctx, key)
		return err
	}},
	{"Add", sdk.CanAdd, func(ctx context.Context, s Store, key string) error {
		_, err := s.Add(ctx, key, []byte("1"), time.Hour)
		return err
	}},
	{"Replace", sdk.CanReplace, func(ctx context.Context, s Store, key string) error {
		_, err := s.Replace(ctx, key, []byte("1"), time.Hour)
		return err
	}},
	{"Pull", sdk.CanPull, func(ctx context.Context, s Store, key string) error {
		_, _, err := s.Pull(ctx, key)
		return err
	}},
	{"Increment", sdk.CanIncrement, func(ctx context.Context, s Store, key string) error {
		_, err := s.Increment(ctx, key, 1, time.Hour)
		return err
	}},
	{"CompareDelete", sdk.CanCompareDelete, func(ctx context.Context, s Store, key string) error {
		_, err := s.CompareDelete(ctx, key, []byte("1"))
		return err
	}},
	{"GetMany", "", func(ctx context.Context, s Store, key string) error {
		_, err := s.GetMany(ctx, []string{key, key + "2"})
		return err
	}},
	{"SetMany", "", func(ctx context.Context, s Store, key string) error {
		return s.SetMany(ctx, []sdk.Entry{{Key: key, Value: []byte("1")}, {Key: key + "2", Value: []byte("1")}})
	}},
	{"DeleteMany", "", func(ctx context.Context, s Store, key string) error {
		_, err := s.DeleteMany(ctx, []string{key, key + "2"})
		return err
	}},
	{"TTL", sdk.CanInspect, func(ctx context.Context, s Store, key string) error {
		_, _, err := s.TTL(ctx, key)
		return err
	}},
	{"Touch", sdk.CanInspect, func(ctx context.Context, s Store, key string) error {
		_, err := s.Touch(ctx, key, time.Hour)
		return err
	}},
	{"Keys", sdk.CanList, func(ctx context.Context, s Store, key string) error {
		_, _, err := s.Keys(ctx, key, nil, 10)
		return err
	}},
	{"Clear", sdk.CanClear, func(ctx context.Context, s Store, key string) error {
		_, _, err := s.Clear(ctx, key, nil)
		return err
	}},
	{"AcquireLease", sdk.CanLease, func(ctx context.Context, s Store, key string) error {
		_, err := s.AcquireLease(ctx, someLease(key))
		return err
	}},
	{"RenewLease", sdk.CanRenewLease, func(ctx context.Context, s Store, key string) error {
		_, err := s.RenewLease(ctx, someLease(key))
		return err
	}},
	{"ReleaseLease", sdk.CanLease, func(ctx context.Context, s Store, key string) error {
		_, err := s.ReleaseLease(ctx, someLease(key))
		return err
	}},
	{"WaitLease", sdk.CanWaitLease, func(ctx context.Context, s Store, key string) error {
		return s.WaitLease(ctx, someLease(key))
	}},
	{"Ping", "", func(ctx context.Context, s Store, _ string) error { return s.Ping(ctx) }},
	{"Stats", "", func(ctx context.Context, s Store, _ string) error {
		_, err := s.Stats(ctx)
		return err
	}},
}

func someLease(key string) sdk.LeaseRequest {
	return sdk.LeaseRequest{Strategy: sdk.StrategyLease, Key: key, Owner: "owner", Lease: longLease, Clock: sdk.DriverClock}
}

// offered are the operations that the store announced.
func (c check) offered() []operation {
	var offered []operation
	for _, op := range operations {
		if op.needs == "" || c.has(op.needs) {
			offered = append(offered, op)
		}
	}
	return offered
}
