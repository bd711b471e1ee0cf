package host

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// pluginName is what the driver's service is called between go-plugin's two
// ends. It never leaves this process.
const pluginName = "driver"

// wirePlugin hands out go-plugin's connection.
type wirePlugin struct{ plugin.NetRPCUnsupportedPlugin }

// GRPCServer is never called in a host.
func (wirePlugin) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("the host serves no plugin")
}

// GRPCClient returns the connection itself.
func (wirePlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, cc *grpc.ClientConn) (any, error) {
	return cc, nil
}

// dialled remembers the connections that go-plugin makes. It loses those whose
// process ends while it connects, and each would try to reconnect for ever.
type dialled struct {
	mu    sync.Mutex
	conns []*grpc.ClientConn
}

// intercept sees every stream that is opened, first those of go-plugin itself.
// Its broker is of no use here and would keep a stream and goroutines busy.
func (d *dialled) intercept(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
	streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	d.remember(cc)
	if strings.HasPrefix(method, "/plugin.GRPCBroker/") {
		return nil, status.Error(codes.Unimplemented, "the broker is not used")
	}
	return streamer(ctx, desc, cc, method, opts...)
}

func (d *dialled) remember(cc *grpc.ClientConn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conns = append(d.conns, cc)
}

// close closes all connections. Those that go-plugin closed are closed twice,
// which is harmless.
func (d *dialled) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, cc := range d.conns {
		_ = cc.Close()
	}
	d.conns = nil
}
