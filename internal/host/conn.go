package host

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/proto"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/internal/wire/driverpb"
)

// A conn is the client end of the wire over one connection. It belongs to one
// driver process: what it opened is gone with that process.
//
// Its errors are the driver's own (with the sentinels they matched over there),
// or the context's, or a *transportError. A call that changes something and
// whose context ends after the request left fails with an error that matches
// both the context's and wire.ErrMaybeApplied; a context that was done before
// that gives its plain error, and nothing was applied.
type conn struct {
	cc grpc.ClientConnInterface
}

func newConn(cc grpc.ClientConnInterface) conn { return conn{cc} }

// dialOptions are what every connection to a driver needs, transport security
// apart: messages of the wire's size, no sleep when idle, a frozen peer noticed
// within 13 seconds, and no second attempt behind the host's back.
func dialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithIdleTimeout(0),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time:                10 * time.Second,
			Timeout:             3 * time.Second,
			PermitWithoutStream: true,
		}),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(wire.MaxFrame),
			grpc.MaxCallSendMsgSize(wire.MaxFrame),
		),
	}
}

// describe asks the driver what it is, and settles on a protocol version. nonce
// is what the process read from its stdin. Where no version is common, the
// error names both ranges and the description is there all the same.
func (c conn) describe(ctx context.Context) (d Description, nonce string, err error) {
	in := &driverpb.DescribeRequest{ProtocolMin: wire.ProtocolMin, ProtocolMax: wire.ProtocolMax}
	var out driverpb.DescribeReply
	if err := c.call(ctx, reads, driverpb.Driver_Describe_FullMethodName, in, &out); err != nil {
		return d, "", err
	}
	d = Description{
		Name:     out.Name,
		Version:  out.Version,
		BuildID:  out.BuildId,
		Schema:   schemaFrom(out.Schema),
		Metadata: out.Metadata,
	}
	d.Protocol, err = wire.Negotiate(out.ProtocolMin, out.ProtocolMax)
	if err != nil {
		return d, out.Nonce, fmt.Errorf("driver %s %s: %w", d.Name, d.Version, err)
	}
	return d, out.Nonce, nil
}

// open opens the store that the application calls name, under the protocol
// version that describe settled on. Options that the driver refuses are an
// error that holds an *sdk.OptionsError.
func (c conn) open(ctx context.Context, name string, options map[string]any, protocol uint32) (*wireStore, error) {
	encoded, err := json.Marshal(options)
	if err != nil {
		return nil, fmt.Errorf("%w: they can't be written as JSON", wire.ErrInvalidOptions)
	}
	in := &driverpb.OpenRequest{Name: name, Options: encoded, Protocol: protocol}
	var out driverpb.OpenReply
	if err := c.call(ctx, reads, driverpb.Driver_Open_FullMethodName, in, &out); err != nil {
		return nil, err
	}
	return &wireStore{
		conn:         c,
		number:       out.Store,
		traits:       traitsFrom(out.Traits),
		capabilities: capabilitiesFrom(out.Capabilities),
	}, nil
}

// An effect says whether a call changes something, which decides what its
// failure means.
type effect int

const (
	reads  effect = iota
	writes        // changes something
	takes         // changes something, and the answer is the only copy of what was there
)

// call makes one call. ctx bounds it; the driver bounds a call whose context
// has no deadline.
func (c conn) call(ctx context.Context, e effect, method string, in, out proto.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o := &outcome{effect: e}
	err := c.cc.Invoke(ctx, method, in, out, o.collect()...)
	if err == nil {
		return nil
	}
	return o.failure(ctx, err)
}
