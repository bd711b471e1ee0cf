package host

import (
	"context"
	"errors"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Attach makes a driver of a program that runs by itself and serves at an
// address of package net, without encryption, as sdk.ServeListener does. Of
// spec only what names and logs the driver counts. A start is a connection: a
// driver that can't be reached is connected to again, with all stores opened
// anew, and Close closes the stores and the connection and leaves the program.
func Attach(spec Spec, network, address string) *Driver {
	d := New(spec)
	d.launch = func(ctx context.Context) (*session, error) { return attach(ctx, network, address) }
	return d
}

func attach(ctx context.Context, network, address string) (*session, error) {
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	cc, err := grpc.NewClient("passthrough:///"+address, append(dialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial))...)
	if err != nil {
		return nil, err
	}
	c := newConn(cc)
	desc, _, err := c.describe(ctx)
	if err != nil {
		return nil, errors.Join(err, cc.Close())
	}
	detached := make(chan struct{})
	detach := sync.OnceValue(func() error {
		close(detached)
		return cc.Close()
	})
	return &session{
		desc:   desc,
		exited: detached,
		open: func(ctx context.Context, store string, options map[string]any) (Store, error) {
			opened, err := c.open(ctx, store, options, desc.Protocol)
			if err != nil {
				return nil, err
			}
			return opened, nil
		},
		check: func(ctx context.Context) error {
			_, _, err := c.describe(ctx)
			return err
		},
		status:  func() string { return "detached" },
		stop:    func(context.Context) error { return detach() },
		kill:    func(context.Context) error { return detach() },
		doubted: make(chan struct{}, 1),
	}, nil
}
