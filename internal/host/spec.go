package host

import (
	"log/slog"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// A Spec says how a driver runs.
type Spec struct {
	Name         string            // as configuration, errors and logs call it
	Builtin      bool              // re-execute this executable as the built-in of that name
	Command      []string          // else: the program and its arguments
	Spelled      []string          // Command as errors may show it, without secrets; nil: as it is
	SHA256       string            // hex digest that the program must have; "" is unchecked
	Env          map[string]string // added to the allow-list
	StartTimeout time.Duration     // 0: 10 s
	Transport    Transport         // what calls travel on
	Logger       *slog.Logger      // nil: slog.Default()
}

// A Transport is what the calls of the data path travel on.
type Transport string

const (
	// TransportAuto is the fast plane where the driver serves it, else gRPC.
	TransportAuto Transport = ""
	// TransportGRPC is gRPC, always.
	TransportGRPC Transport = "grpc"
)

const defaultStartTimeout = 10 * time.Second

func (s Spec) startTimeout() time.Duration {
	if s.StartTimeout > 0 {
		return s.StartTimeout
	}
	return defaultStartTimeout
}

func (s Spec) logger() *slog.Logger {
	log := s.Logger
	if log == nil {
		log = slog.Default()
	}
	return log.With("driver", s.Name)
}

// A Description is what a driver process says of itself.
type Description struct {
	Name, Version string
	Protocol      uint32
	BuildID       string
	Schema        sdk.Schema
	Metadata      map[string]string // what else it says, such as its pid
	Fast          bool              // calls travel on the fast plane, and not on gRPC
}

// A State is where a driver stands.
type State string

const (
	StateStopped  State = "stopped"  // not started yet
	StateStarting State = "starting" // being started, for the first time or again
	StateReady    State = "ready"
	StateBackoff  State = "backoff" // crashed; calls fail at once until the next start
	StateClosed   State = "closed"
)

// A Status is a snapshot of a driver.
type Status struct {
	State    State
	PID      int // of the running process, else 0
	Restarts int // successful starts after the first
	Since    time.Time
	LastErr  error // why it is not ready, or why it was last restarted
	Stores   int
}
