package sdk

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/cachewright/cachewright/internal/wire/driverpb"
)

// everyCall is one valid call of each operation on a store.
func everyCall(c driverpb.DriverClient, number uint64) map[string]func(context.Context, ...grpc.CallOption) error {
	type ctx = context.Context
	type option = grpc.CallOption
	key := &driverpb.KeyRequest{Store: number, Key: "k"}
	set := &driverpb.SetRequest{Store: number, Key: "k", Value: []byte("v")}
	lease := &driverpb.LeaseRequest{Store: number, Strategy: StrategyLease, Key: "k", Owner: "me", Lease: int64(time.Minute)}
	store := &driverpb.StoreRequest{Store: number}
	entries := []*driverpb.Entry{{Key: "k", Value: []byte("v")}}
	return map[string]func(ctx, ...option) error{
		"Get":     func(ctx ctx, o ...option) error { _, err := c.Get(ctx, key, o...); return err },
		"Set":     func(ctx ctx, o ...option) error { _, err := c.Set(ctx, set, o...); return err },
		"Delete":  func(ctx ctx, o ...option) error { _, err := c.Delete(ctx, key, o...); return err },
		"Add":     func(ctx ctx, o ...option) error { _, err := c.Add(ctx, set, o...); return err },
		"Replace": func(ctx ctx, o ...option) error { _, err := c.Replace(ctx, set, o...); return err },
		"Pull":    func(ctx ctx, o ...option) error { _, err := c.Pull(ctx, key, o...); return err },
		"Increment": func(ctx ctx, o ...option) error {
			_, err := c.Increment(ctx, &driverpb.IncrementRequest{Store: number, Key: "k", Delta: 1}, o...)
			return err
		},
		"CompareDelete": func(ctx ctx, o ...option) error {
			_, err := c.CompareDelete(ctx, &driverpb.CompareDeleteRequest{Store: number, Key: "k"}, o...)
			return err
		},
		"GetMany": func(ctx ctx, o ...option) error {
			_, err := c.GetMany(ctx, &driverpb.GetManyRequest{Store: number, Keys: []string{"k"}}, o...)
			return err
		},
		"SetMany": func(ctx ctx, o ...option) error {
			_, err := c.SetMany(ctx, &driverpb.SetManyRequest{Store: number, Entries: entries}, o...)
			return err
		},
		"DeleteMany": func(ctx ctx, o ...option) error {
			_, err := c.DeleteMany(ctx, &driverpb.DeleteManyRequest{Store: number, Keys: []string{"k"}}, o...)
			return err
		},
		"TTL": func(ctx ctx, o ...option) error { _, err := c.TTL(ctx, key, o...); return err },
		"Touch": func(ctx ctx, o ...option) error {
			_, err := c.Touch(ctx, &driverpb.TouchRequest{Store: number, Key: "k", Ttl: 1}, o...)
			return err
		},
		"Keys": func(ctx ctx, o ...option) error {
			_, err := c.Keys(ctx, &driverpb.KeysRequest{Store: number, Limit: 10}, o...)
			return err
		},
		"Clear": func(ctx ctx, o ...option) error {
			_, err := c.Clear(ctx, &driverpb.ClearRequest{Store: number}, o...)
			return err
		},
		"AcquireLease": func(ctx ctx, o ...option) error { _, err := c.AcquireLease(ctx, lease, o...); return err },
		"RenewLease":   func(ctx ctx, o ...option) error { _, err := c.RenewLease(ctx, lease, o...); return err },
		"ReleaseLease": func(ctx ctx, o ...option) error { _, err := c.ReleaseLease(ctx, lease, o...); return err },
		"WaitLease":    func(ctx ctx, o ...option) error { _, err := c.WaitLease(ctx, lease, o...); return err },
		"Ping":         func(ctx ctx, o ...option) error { _, err := c.Ping(ctx, store, o...); return err },
		"Stats":        func(ctx ctx, o ...option) error { _, err := c.Stats(ctx, store, o...); return err },
	}
}

// A panickingStore has every optional interface and panics in all of them.
type panickingStore struct{}

func (panickingStore) Close() error { return nil }

func (panickingStore) Get(context.Context, string) ([]byte, bool, error) { panic("hunter2") }

func (panickingStore) Set(context.Context, string, []byte, time.Duration) error { panic("hunter2") }

func (panickingStore) Delete(context.Context, string) (bool, error) { panic("hunter2") }

func (panickingStore) Add(context.Context, string, []byte, time.Duration) (bool, error) {
	panic("hunter2")
}

func (panickingStore) Replace(context.Context, string, []byte, time.Duration) (bool, error) {
	panic("hunter2")
}

func (panickingStore) Pull(context.Context, string) ([]byte, bool, error) { panic("hunter2") }

func (panickingStore) Increment(context.Context, string, int64, time.Duration) (int64, error) {
	panic("hunter2")
}

func (panickingStore) CompareDelete(context.Context, string, []byte) (bool, error) {
	panic("hunter2")
}

func (panickingStore) GetMany(context.Context, []string) ([]Lookup, error) { panic("hunter2") }

func (panickingStore) SetMany(context.Context, []Entry) error { panic("hunter2") }

func (panickingStore) DeleteMany(context.Context, []string) (int, error) { panic("hunter2") }

func (panickingStore) TTL(context.Context, string) (time.Duration, bool, error) { panic("hunter2") }

func (panickingStore) Touch(context.Context, string, time.Duration) (bool, error) {
	panic("hunter2")
}

func (panickingStore) Keys(context.Context, string, []byte, int) ([]string, []byte, error) {
	panic("hunter2")
}

func (panickingStore) Clear(context.Context, string, []byte) ([]byte, int, error) { panic("hunter2") }

func (panickingStore) AcquireLease(context.Context, LeaseRequest) (LeaseGrant, error) {
	panic("hunter2")
}

func (panickingStore) RenewLease(context.Context, LeaseRequest) (LeaseGrant, error) {
	panic("hunter2")
}

func (panickingStore) ReleaseLease(context.Context, LeaseRequest) (bool, error) { panic("hunter2") }

func (panickingStore) WaitLease(context.Context, LeaseRequest) error { panic("hunter2") }

func (panickingStore) Ping(context.Context) error { panic("hunter2") }

func (panickingStore) Stats(context.Context) ([]Stat, error) { panic("hunter2") }
