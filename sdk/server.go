package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/cachewright/cachewright/internal/fastplane"
	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/internal/wire/driverpb"
)

// A server is the driver's end of the wire. It opens stores of one driver and
// passes calls on to them.
type server struct {
	driverpb.UnsafeDriverServer
	driver Driver
	nonce  string // "" where nobody started this process for a host
	stores *registry
	closed chan struct{} // closed once stop has closed the stores
	rpc    *grpc.Server

	cores      *coreShare        // nil where the process is not the driver's alone
	plane      *fastplane.Server // nil without one
	planeEnded chan struct{}
}

var _ driverpb.DriverServer = (*server)(nil)

// healthService is what go-plugin's clients ask for.
const healthService = "plugin"

func newServer(d Driver, nonce string, options ...grpc.ServerOption) *server {
	s := &server{driver: d, nonce: nonce, stores: newRegistry(), closed: make(chan struct{})}
	s.rpc = grpc.NewServer(append(options,
		grpc.MaxRecvMsgSize(wire.MaxFrame),
		grpc.MaxSendMsgSize(wire.MaxFrame),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime:             5 * time.Second,
			PermitWithoutStream: true,
		}),
		grpc.UnaryInterceptor(guard),
	)...)
	driverpb.RegisterDriverServer(s.rpc, s)
	alive := health.NewServer()
	alive.SetServingStatus(healthService, grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(s.rpc, alive)
	return s
}

// answerTime is what the answers of the last calls get to reach the connection,
// before a client learns that it may cut it. gRPC doesn't say when they have.
const answerTime = 20 * time.Millisecond

// stop lets running calls end, closes the stores and ends the server; it is
// called once. What is still running after wire.StopTimeout is cut, and the
// stores get another moment to close.
func (s *server) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), wire.StopTimeout)
	defer cancel()
	busy := s.stores.busy()
	err := s.stores.closeAll(ctx)
	late := ctx.Err() != nil
	if busy && !late {
		time.Sleep(answerTime)
	}
	close(s.closed)
	s.stopPlane(ctx)
	s.drain(ctx)
	if !late {
		return err
	}
	ctx, cancel = context.WithTimeout(context.Background(), wire.StopTimeout/4)
	defer cancel()
	return s.stores.closeAll(ctx)
}

// drain ends the server once the last answers are out, and no later than ctx.
func (s *server) drain(ctx context.Context) {
	drained := make(chan struct{})
	go func() {
		s.rpc.GracefulStop()
		close(drained)
	}()
	select {
	case <-drained:
	case <-ctx.Done():
		s.rpc.Stop() // ends GracefulStop too
		<-drained
	}
}

// Describe says what this driver is.
func (s *server) Describe(context.Context, *driverpb.DescribeRequest) (*driverpb.DescribeReply, error) {
	return &driverpb.DescribeReply{
		Name:        s.driver.Name,
		Version:     s.driver.Version,
		ProtocolMin: wire.ProtocolMin,
		ProtocolMax: wire.ProtocolMax,
		BuildId:     wire.BuildID(),
		Nonce:       s.nonce,
		Schema:      schemaMessages(s.driver.Schema),
		Metadata:    s.metadata(),
	}, nil
}

func (s *server) metadata() map[string]string {
	m := map[string]string{
		"pid": strconv.Itoa(os.Getpid()),
		"go":  runtime.Version(),
	}
	if s.plane != nil {
		m[wire.PlaneMetadata] = fastplane.Version
	}
	return m
}

// Open opens a store. No lock is held meanwhile, so that a slow one delays no
// other.
func (s *server) Open(ctx context.Context, r *driverpb.OpenRequest) (*driverpb.OpenReply, error) {
	if _, err := wire.Negotiate(r.Protocol, r.Protocol); err != nil {
		return nil, fmt.Errorf("driver %s %s: %w", s.driver.Name, s.driver.Version, err)
	}
	options, err := decodeOptions(r.Options)
	if err != nil {
		return nil, err
	}
	in, err := s.driver.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	number, err := s.stores.add(in)
	if err != nil {
		return nil, errors.Join(err, in.Close(ctx))
	}
	if s.cores != nil {
		s.cores.admit(in.traits.Dispatch)
	}
	return &driverpb.OpenReply{
		Store:        number,
		Capabilities: capabilityNames(in.Capabilities()),
		Traits:       traitsMessage(in.Traits()),
	}, nil
}

// Close closes a store once its running calls have ended.
func (s *server) Close(ctx context.Context, r *driverpb.StoreRequest) (*driverpb.Empty, error) {
	return &driverpb.Empty{}, s.stores.close(ctx, r.Store)
}

// decodeOptions reads a JSON object. Its errors keep the text out, which may
// hold a secret.
func decodeOptions(text []byte) (map[string]any, error) {
	if len(text) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a large integer stays exact
	var options map[string]any
	if decoder.Decode(&options) != nil {
		return nil, fmt.Errorf("%w: they are not a JSON object", ErrInvalidOptions)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: something follows the JSON object", ErrInvalidOptions)
	}
	return options, nil
}
