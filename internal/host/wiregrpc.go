package host

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/cachewright/cachewright/internal/fastplane"
	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/internal/wire/driverpb"
)

// overGRPC makes a call of the data path over gRPC.
func (s *wireStore) overGRPC(ctx context.Context, e effect, r *fastplane.Request) (a fastplane.Answer, err error) {
	method, in, out := s.messages(r)
	if err := s.conn.call(ctx, e, method, in, out); err != nil {
		return a, err
	}
	return answerFrom(out)
}

// messages are how gRPC says a call.
func (s *wireStore) messages(r *fastplane.Request) (method string, in, out proto.Message) {
	switch r.Op {
	case fastplane.OpGet:
		return driverpb.Driver_Get_FullMethodName, s.keyMessage(r), new(driverpb.ValueReply)
	case fastplane.OpPull:
		return driverpb.Driver_Pull_FullMethodName, s.keyMessage(r), new(driverpb.ValueReply)
	case fastplane.OpDelete:
		return driverpb.Driver_Delete_FullMethodName, s.keyMessage(r), new(driverpb.BoolReply)
	case fastplane.OpTTL:
		return driverpb.Driver_TTL_FullMethodName, s.keyMessage(r), new(driverpb.TTLReply)
	case fastplane.OpSet:
		return driverpb.Driver_Set_FullMethodName, s.setMessage(r), new(driverpb.Empty)
	case fastplane.OpAdd:
		return driverpb.Driver_Add_FullMethodName, s.setMessage(r), new(driverpb.BoolReply)
	case fastplane.OpReplace:
		return driverpb.Driver_Replace_FullMethodName, s.setMessage(r), new(driverpb.BoolReply)
	case fastplane.OpTouch:
		in = &driverpb.TouchRequest{Store: s.number, Key: r.Key, Ttl: int64(r.TTL)}
		return driverpb.Driver_Touch_FullMethodName, in, new(driverpb.BoolReply)
	case fastplane.OpIncrement:
		in = &driverpb.IncrementRequest{Store: s.number, Key: r.Key, Delta: r.Delta, InitialTtl: int64(r.TTL)}
		return driverpb.Driver_Increment_FullMethodName, in, new(driverpb.IncrementReply)
	case fastplane.OpCompareDelete:
		in = &driverpb.CompareDeleteRequest{Store: s.number, Key: r.Key, Value: r.Value}
		return driverpb.Driver_CompareDelete_FullMethodName, in, new(driverpb.BoolReply)
	case fastplane.OpGetMany:
		in = &driverpb.GetManyRequest{Store: s.number, Keys: r.Keys}
		return driverpb.Driver_GetMany_FullMethodName, in, new(driverpb.GetManyReply)
	case fastplane.OpSetMany:
		in = &driverpb.SetManyRequest{Store: s.number, Entries: entriesTo(r.Entries)}
		return driverpb.Driver_SetMany_FullMethodName, in, new(driverpb.SetManyReply)
	case fastplane.OpDeleteMany:
		in = &driverpb.DeleteManyRequest{Store: s.number, Keys: r.Keys}
		return driverpb.Driver_DeleteMany_FullMethodName, in, new(driverpb.DeleteManyReply)
	case fastplane.OpAcquireLease:
		return driverpb.Driver_AcquireLease_FullMethodName, s.leaseMessage(r), new(driverpb.LeaseReply)
	case fastplane.OpRenewLease:
		return driverpb.Driver_RenewLease_FullMethodName, s.leaseMessage(r), new(driverpb.LeaseReply)
	default:
		return driverpb.Driver_ReleaseLease_FullMethodName, s.leaseMessage(r), new(driverpb.BoolReply)
	}
}

func (s *wireStore) keyMessage(r *fastplane.Request) *driverpb.KeyRequest {
	return &driverpb.KeyRequest{Store: s.number, Key: r.Key}
}

func (s *wireStore) setMessage(r *fastplane.Request) *driverpb.SetRequest {
	return &driverpb.SetRequest{Store: s.number, Key: r.Key, Value: r.Value, Ttl: int64(r.TTL)}
}

func (s *wireStore) leaseMessage(r *fastplane.Request) *driverpb.LeaseRequest {
	return &driverpb.LeaseRequest{
		Store:       s.number,
		Strategy:    r.Lease.Strategy,
		Key:         r.Key,
		Owner:       r.Lease.Owner,
		Lease:       int64(r.TTL),
		DriverClock: r.Lease.DriverClock,
	}
}

func entriesTo(entries []fastplane.Entry) []*driverpb.Entry {
	messages := make([]driverpb.Entry, len(entries))
	pointers := make([]*driverpb.Entry, len(entries))
	for i, e := range entries {
		m := &messages[i]
		m.Key, m.Value, m.Ttl = e.Key, e.Value, int64(e.TTL)
		pointers[i] = m
	}
	return pointers
}

// answerFrom reads what gRPC brought.
func answerFrom(out proto.Message) (a fastplane.Answer, err error) {
	a.Say(true)
	switch m := out.(type) {
	case *driverpb.ValueReply:
		a.Say(m.Found)
		a.Value = valueFrom(m.Found, m.Value)
	case *driverpb.BoolReply:
		a.Say(m.Ok)
	case *driverpb.IncrementReply:
		a.Number = m.Value
	case *driverpb.TTLReply:
		a.Say(m.Found)
		a.TTL = time.Duration(m.Ttl)
	case *driverpb.LeaseReply:
		a.Say(m.Ok)
		a.Fence, a.TTL = m.Fence, time.Duration(m.Remaining)
	case *driverpb.GetManyReply:
		a.Items = itemsFrom(m.Items)
	case *driverpb.SetManyReply:
		a.Failures = failuresFrom(m.Failures)
	case *driverpb.DeleteManyReply:
		a.Number, a.Failures = int64(m.Existed), failuresFrom(m.Failures)
	case *driverpb.Empty:
	default:
		return a, fmt.Errorf("%w: an answer of type %T", wire.ErrInternal, out)
	}
	return a, nil
}

func itemsFrom(messages []*driverpb.Item) []fastplane.Item {
	items := make([]fastplane.Item, len(messages))
	for i, m := range messages {
		items[i] = fastplane.Item{Found: m.Found, Value: valueFrom(m.Found, m.Value)}
		if m.Failure != nil {
			f := failureFrom(m.Failure)
			items[i].Failure = &f
		}
	}
	return items
}

// valueFrom keeps a found value from being nil, which an empty one is on the
// wire.
func valueFrom(found bool, value []byte) []byte {
	if found && value == nil {
		return []byte{}
	}
	return value
}

func failuresFrom(messages []*driverpb.Failure) []fastplane.Failure {
	failures := make([]fastplane.Failure, len(messages))
	for i, m := range messages {
		failures[i] = failureFrom(m)
	}
	return failures
}

func failureFrom(m *driverpb.Failure) fastplane.Failure {
	return fastplane.Failure{Index: int(m.Index), Names: m.Error, Message: m.Message}
}
