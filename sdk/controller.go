package sdk

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

// A controller answers go-plugin's wish that the process end. Its service is
// written by hand, since go-plugin keeps the generated one to itself; an empty
// message is an empty message under any name.
type controller interface {
	Shutdown(context.Context, *emptypb.Empty) (*emptypb.Empty, error)
}

var controllerService = grpc.ServiceDesc{
	ServiceName: "plugin.GRPCController",
	HandlerType: (*controller)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "Shutdown", Handler: shutdownHandler}},
}

func shutdownHandler(srv any, ctx context.Context, decode func(any) error, guard grpc.UnaryServerInterceptor) (any, error) {
	in := new(emptypb.Empty)
	if err := decode(in); err != nil {
		return nil, err
	}
	info := &grpc.UnaryServerInfo{Server: srv, FullMethod: "/plugin.GRPCController/Shutdown"}
	return guard(ctx, in, info, func(ctx context.Context, in any) (any, error) {
		return srv.(controller).Shutdown(ctx, in.(*emptypb.Empty))
	})
}

// registerController adds the service to s. The channel that it returns is
// closed when a client asks for the end.
func registerController(s *server) <-chan struct{} {
	asked := make(chan struct{})
	s.rpc.RegisterService(&controllerService, &stopOnRequest{
		ask:    sync.OnceFunc(func() { close(asked) }),
		closed: s.closed,
	})
	return asked
}

type stopOnRequest struct {
	ask    func()
	closed <-chan struct{} // once the stores are
}

// Shutdown answers when running calls have ended and the stores are closed,
// since the client cuts the connection after the answer.
func (s *stopOnRequest) Shutdown(ctx context.Context, in *emptypb.Empty) (*emptypb.Empty, error) {
	s.ask()
	select {
	case <-s.closed:
		return in, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
