package drivertest

import (
	"context"
	"testing"

	"github.com/cachewright/cachewright/internal/host"
	"github.com/cachewright/cachewright/sdk"
)

// A mode is a way from a host to a driver. launch makes a process and ends it
// with the test.
type mode struct {
	name   string
	launch func(testing.TB, sdk.Driver) process
}

// A process opens stores of one driver, in this process or in another.
type process interface {
	open(ctx context.Context, options map[string]any) (Store, error)
}

var modes = []mode{
	{"direct", func(_ testing.TB, d sdk.Driver) process { return direct{d} }},
	{"wire", serveHere},
	{"child", startChild},
}

// direct calls the store in this process.
type direct struct{ driver sdk.Driver }

func (p direct) open(ctx context.Context, options map[string]any) (Store, error) {
	in, err := p.driver.Open(ctx, options)
	if err != nil {
		return nil, err // a nil *sdk.Instance would be a Store that is not nil
	}
	return in, nil
}

// storeName is what stores are called in a driver's log.
const storeName = "drivertest"

// remote opens stores behind the wire.
type remote struct{ driver *host.Driver }

func (p remote) open(ctx context.Context, options map[string]any) (Store, error) {
	s, err := p.driver.Open(ctx, storeName, options)
	if err != nil {
		return nil, err
	}
	return s, nil
}
