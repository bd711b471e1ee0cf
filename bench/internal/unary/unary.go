// Package unary is the plainest plugin that go-plugin makes possible: a process
// that keeps values in a map and answers each read by one unary gRPC call, with
// the stock client and server and nothing tuned. It is what Cachewright is
// compared with where it says "unary gRPC through go-plugin".
package unary

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/cachewright/cachewright/internal/wire/driverpb"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

var handshake = plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "BENCH_UNARY", MagicCookieValue: "plain"}

// Serve is the plugin's main.
func Serve() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake,
		Plugins:         plugin.PluginSet{"cache": &cachePlugin{}},
		GRPCServer:      plugin.DefaultGRPCServer,
		Logger:          hclog.NewNullLogger(),
	})
}

// A Client is the host's end; it owns the plugin's process.
type Client struct {
	process *plugin.Client
	driver  driverpb.DriverClient
}

// Start starts the program, which has to call Serve, as a plugin. With secure
// the connection is TLS with a key on each side.
func Start(program string, args []string, secure bool) (*Client, error) {
	process := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  handshake,
		Plugins:          plugin.PluginSet{"cache": &cachePlugin{}},
		Cmd:              exec.Command(program, args...),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         secure,
		StartTimeout:     30 * time.Second,
		Logger:           hclog.New(&hclog.LoggerOptions{Level: hclog.Error, Output: os.Stderr}),
	})
	driver, err := dispense(process)
	if err != nil {
		process.Kill()
		return nil, err
	}
	return &Client{process, driver}, nil
}

func dispense(process *plugin.Client) (driverpb.DriverClient, error) {
	protocol, err := process.Client()
	if err != nil {
		return nil, err
	}
	raw, err := protocol.Dispense("cache")
	if err != nil {
		return nil, err
	}
	driver, ok := raw.(driverpb.DriverClient)
	if !ok {
		return nil, errors.New("the plugin is something else")
	}
	return driver, nil
}

// Get reads a value.
func (c *Client) Get(ctx context.Context, key string) ([]byte, error) {
	reply, err := c.driver.Get(ctx, &driverpb.KeyRequest{Key: key})
	return reply.GetValue(), err
}

// Set stores a value.
func (c *Client) Set(ctx context.Context, key string, value []byte) error {
	_, err := c.driver.Set(ctx, &driverpb.SetRequest{Key: key, Value: value})
	return err
}

// Close ends the plugin.
func (c *Client) Close() { c.process.Kill() }

type cachePlugin struct{ plugin.NetRPCUnsupportedPlugin }

func (*cachePlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	driverpb.RegisterDriverServer(s, &server{values: map[string][]byte{}})
	return nil
}

func (*cachePlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return driverpb.NewDriverClient(conn), nil
}

type server struct {
	driverpb.UnimplementedDriverServer

	mu     sync.RWMutex
	values map[string][]byte
}

func (s *server) Get(_ context.Context, r *driverpb.KeyRequest) (*driverpb.ValueReply, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	value, found := s.values[r.GetKey()]
	return &driverpb.ValueReply{Found: found, Value: value}, nil
}

func (s *server) Set(_ context.Context, r *driverpb.SetRequest) (*driverpb.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[r.GetKey()] = r.GetValue()
	return &driverpb.Empty{}, nil
}
