package host

import (
	"context"
	"fmt"
	"time"

	"github.com/cachewright/cachewright/internal/fastplane"
	"github.com/cachewright/cachewright/internal/wire"
)

// offerPlane gives the process one end of a fast plane. Without one, calls take
// gRPC: that is no reason not to start.
func (in *instance) offerPlane() {
	if in.spec.Transport == TransportGRPC {
		return
	}
	socket, end, err := fastplane.Pair()
	if err != nil {
		in.log.Debug("no fast plane", "err", err)
		return
	}
	in.socket, in.process.plane = socket, end
	in.process.env = append(in.process.env, wire.PlaneKey+"="+fastplane.Version)
}

// takePlane takes the fast plane into use if the driver serves it.
func (in *instance) takePlane() (err error) {
	if in.socket == nil {
		return nil
	}
	if in.desc.Metadata[wire.PlaneMetadata] != fastplane.Version {
		_ = in.socket.Close() // nobody has used it
		in.socket = nil
		return nil
	}
	in.plane, err = fastplane.NewClient(in.socket)
	if err != nil {
		return fmt.Errorf("the fast plane: %w", err)
	}
	in.desc.Fast = true
	return nil
}

// noStore is the number of no store. The goroutine that reads a plane answers a
// call on it by itself.
const noStore = 0

// checkPlane asks for a sign of life over the fast plane, if there is one: a
// driver that does well over gRPC may have stopped reading it. A question that
// got no slot within half the time says nothing, and leaves the other half.
func (in *instance) checkPlane(ctx context.Context) error {
	if in.plane == nil {
		return nil
	}
	if deadline, ok := ctx.Deadline(); ok {
		half, cancel := context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
		ctx = half
	}
	_, sent, err := in.plane.Call(ctx, &fastplane.Request{Op: fastplane.OpTTL, Store: noStore, Key: "k"})
	switch {
	case in.plane.Err() != nil:
		return in.plane.Err()
	case err != nil && sent:
		return fmt.Errorf("no answer over the fast plane: %w", err)
	}
	return nil
}

// closePlane ends the calls under way on the fast plane, and it.
func (in *instance) closePlane() {
	if in.plane != nil {
		in.plane.Close()
		return
	}
	if in.socket != nil {
		_ = in.socket.Close() // nobody has used it
	}
}
