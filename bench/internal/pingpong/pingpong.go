// Package pingpong is the floor of any hop: a process that answers every message
// with as many bytes as a small value has, over a socket pair, with plain reads
// and writes. Nothing is framed, and there is room for one caller.
package pingpong

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"

	"github.com/cachewright/cachewright/internal/fastplane"
)

// descriptor is where the process finds its end.
const descriptor = 3

// question and answer are the sizes of the two messages, in bytes.
const (
	question = 32
	answer   = 100
)

// Serve is the process's main.
func Serve() error {
	socket, err := fastplane.Connect(os.NewFile(descriptor, "ping-pong"))
	if err != nil {
		return err
	}
	in, out := make([]byte, question), make([]byte, answer)
	for {
		if _, err := io.ReadFull(socket, in); err != nil {
			return nil // the other end is gone
		}
		if _, err := socket.Write(out); err != nil {
			return err
		}
	}
}

// A Client is the other end; it owns the process.
type Client struct {
	process *exec.Cmd
	socket  *net.UnixConn
	in, out []byte
}

// Start starts the program, which has to call Serve.
func Start(program string, args ...string) (*Client, error) {
	socket, end, err := fastplane.Pair()
	if err != nil {
		return nil, err
	}
	defer end.Close()
	c := &Client{process: exec.Command(program, args...), socket: socket, in: make([]byte, answer), out: make([]byte, question)}
	c.process.ExtraFiles = []*os.File{end}
	c.process.Stderr = os.Stderr
	if err := c.process.Start(); err != nil {
		_ = socket.Close() // nobody has used it
		return nil, err
	}
	return c, nil
}

// Get is one ping-pong; the key has no meaning. Only one may be under way.
func (c *Client) Get(context.Context, string) ([]byte, error) {
	if _, err := c.socket.Write(c.out); err != nil {
		return nil, err
	}
	_, err := io.ReadFull(c.socket, c.in)
	return c.in, err
}

// Set does nothing: there is nothing to store.
func (c *Client) Set(context.Context, string, []byte) error { return nil }

// Close ends the process.
func (c *Client) Close() error {
	_ = c.socket.Close() // its end is what tells the process
	return c.process.Wait()
}
