package core

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cachewright/cachewright/core/internal/config"
	"github.com/cachewright/cachewright/internal/host"
)

// A StoreInfo is what the configuration says of a store.
type StoreInfo struct {
	Name         string        `json:"name"`
	Driver       string        `json:"driver"`
	Default      bool          `json:"default"`
	Prefix       string        `json:"prefix"`
	Codec        string        `json:"codec"`
	Timeout      time.Duration `json:"-"`
	LockStrategy string        `json:"lock_strategy,omitempty"` // "": the driver's default
}

// Stores lists the configured stores in the order of the configuration.
func (m *CacheManager) Stores() []StoreInfo {
	infos := make([]StoreInfo, len(m.config.Order))
	for i, name := range m.config.Order {
		s := m.config.Stores[name]
		infos[i] = StoreInfo{
			Name: s.Name, Driver: s.Driver, Default: name == m.config.Default,
			Prefix: s.Prefix, Codec: s.Codec, Timeout: s.Timeout, LockStrategy: s.Lock.Strategy,
		}
	}
	return infos
}

// A DriverInfo is the state of a driver's process.
type DriverInfo struct {
	Name     string   `json:"name"`
	Run      string   `json:"run"`             // builtin or command
	State    string   `json:"state"`           // stopped, starting, ready, backoff, closed
	PID      int      `json:"pid,omitempty"`   // of the running process
	Restarts int      `json:"restarts"`        // starts after the first
	Error    string   `json:"error,omitempty"` // why it is not ready, or why it was restarted
	Stores   []string `json:"stores"`          // that use it
}

// Drivers lists the drivers that the configured stores use, and those it
// registers beside, by name. It starts none.
func (m *CacheManager) Drivers() []DriverInfo {
	infos := m.configuredDrivers()
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, d := range m.drivers {
		infos[name].update(d.Status())
	}
	list := make([]DriverInfo, 0, len(infos))
	for _, name := range slices.Sorted(maps.Keys(infos)) {
		list = append(list, *infos[name])
	}
	return list
}

// configuredDrivers are all that can be started.
func (m *CacheManager) configuredDrivers() map[string]*DriverInfo {
	infos := make(map[string]*DriverInfo)
	for name, d := range m.config.Drivers {
		infos[name] = &DriverInfo{Name: name, Run: string(d.Run), State: string(host.StateStopped), Stores: []string{}}
	}
	for _, name := range m.config.Order {
		driver := m.config.Stores[name].Driver
		if infos[driver] == nil {
			infos[driver] = &DriverInfo{Name: driver, Run: string(config.RunBuiltin), State: string(host.StateStopped)}
		}
		infos[driver].Stores = append(infos[driver].Stores, name)
	}
	return infos
}

func (i *DriverInfo) update(s host.Status) {
	i.State, i.PID, i.Restarts = string(s.State), s.PID, s.Restarts
	if s.LastErr != nil {
		i.Error = s.LastErr.Error()
	}
}

// A DriverDescription is what a driver says of itself.
type DriverDescription struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Protocol uint32 `json:"protocol"`
	// Transport is what its calls travel on: fast or grpc.
	Transport string         `json:"transport"`
	Options   []DriverOption `json:"options"`
}

// An DriverOption is one option of a driver's stores.
type DriverOption struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	Required bool     `json:"required,omitempty"`
	Secret   bool     `json:"secret,omitempty"`
	Default  string   `json:"default,omitempty"`
	Enum     []string `json:"enum,omitempty"`
	Doc      string   `json:"doc"`
}

// DescribeDriver asks a driver of the configuration what it is, and starts it
// if need be. One that Drivers does not list is ErrInvalidConfig.
func (m *CacheManager) DescribeDriver(ctx context.Context, name string) (DriverDescription, error) {
	if known := m.configuredDrivers(); known[name] == nil {
		return DriverDescription{}, fmt.Errorf("%w: it has no driver %q; it has %s", ErrInvalidConfig, name,
			strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	d, err := m.driver(name)
	if err != nil {
		return DriverDescription{}, err
	}
	described, err := d.Describe(ctx)
	if err != nil {
		return DriverDescription{}, &Error{Op: "describe", Driver: name, Err: err}
	}
	options := make([]DriverOption, len(described.Schema))
	for i, o := range described.Schema {
		options[i] = DriverOption{o.Name, string(o.Kind), o.Required, o.Secret, o.Default, o.Enum, o.Doc}
	}
	transport := "grpc"
	if described.Fast {
		transport = "fast"
	}
	return DriverDescription{described.Name, described.Version, described.Protocol, transport, options}, nil
}

// spec says how a driver of the configuration runs.
func (m *CacheManager) spec(name string) host.Spec {
	d, ok := m.config.Drivers[name]
	if !ok {
		return host.Spec{Name: name, Builtin: true, Logger: m.logger}
	}
	transport := host.TransportAuto
	if d.Transport == config.TransportGRPC {
		transport = host.TransportGRPC
	}
	return host.Spec{
		Name:         name,
		Transport:    transport,
		Builtin:      d.Run != config.RunCommand,
		Command:      d.Command,
		Spelled:      d.Spelled,
		SHA256:       d.SHA256,
		Env:          d.Env,
		StartTimeout: d.StartTimeout,
		Logger:       m.logger,
	}
}
