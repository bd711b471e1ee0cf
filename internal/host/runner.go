package host

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/hashicorp/go-plugin/runner"
)

// A process is what go-plugin starts and waits for.
var _ runner.Runner = (*process)(nil)

// Start is called by go-plugin once.
func (p *process) Start(context.Context) error { return p.start() }

// Wait returns when the process has ended.
func (p *process) Wait(ctx context.Context) error {
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Kill is called by go-plugin when it gives up.
func (p *process) Kill(context.Context) error {
	p.kill()
	return nil
}

// Stdout carries the handshake line and nothing else.
func (p *process) Stdout() io.ReadCloser { return p.handshake }

// Stderr is empty: go-plugin must not parse what a driver logs.
func (p *process) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name is the program's.
func (p *process) Name() string { return p.program.real }

// ID is the process's number, or empty if it never ran.
func (p *process) ID() string {
	if pid := p.processID(); pid != 0 {
		return strconv.Itoa(pid)
	}
	return ""
}

// Diagnose leaves it to StartError to explain.
func (p *process) Diagnose(context.Context) string { return "" }

// PluginToHost keeps addresses as they are: both sides see the same system.
func (p *process) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin keeps addresses as they are.
func (p *process) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
