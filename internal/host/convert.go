package host

import (
	"slices"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/internal/wire/driverpb"
	"github.com/cachewright/cachewright/sdk"
)

func schemaFrom(options []*driverpb.Option) sdk.Schema {
	schema := make(sdk.Schema, len(options))
	for i, o := range options {
		schema[i] = sdk.Option{
			Name:     o.Name,
			Kind:     sdk.Kind(o.Kind),
			Required: o.Required,
			Secret:   o.Secret,
			Default:  o.Default,
			Enum:     o.Enum,
			Doc:      o.Doc,
		}
	}
	return schema
}

func capabilitiesFrom(names []string) sdk.Capabilities {
	capabilities := make(sdk.Capabilities, len(names))
	for i, name := range names {
		capabilities[i] = sdk.Capability(name)
	}
	slices.Sort(capabilities)
	return capabilities
}

// traitsFrom reads traits, with the same defaults as in the driver's process,
// since a driver in another language may leave them out.
func traitsFrom(t *driverpb.Traits) sdk.Traits {
	return sdk.Traits{
		Granularity:     time.Duration(t.GetGranularity()),
		MaxKey:          int(t.GetMaxKey()),
		MaxValue:        int64(t.GetMaxValue()),
		LockStrategy:    t.GetLockStrategy(),
		LockScope:       sdk.Scope(t.GetLockScope()),
		ShortestLease:   time.Duration(t.GetShortestLease()),
		Class:           sdk.Class(t.GetClass()),
		ReleaseCompares: t.GetReleaseCompares(),
		Space:           t.GetSpace(),
	}.WithDefaults()
}

func lookupFrom(item *driverpb.Item) sdk.Lookup {
	if item.Failure != nil {
		return sdk.Lookup{Err: failureFrom(item.Failure)}
	}
	return sdk.Lookup{Value: valueFrom(item.Found, item.Value), OK: item.Found}
}

// valueFrom keeps a found value from being nil, which an empty one is on the
// wire.
func valueFrom(found bool, value []byte) []byte {
	if found && value == nil {
		return []byte{}
	}
	return value
}

func grantFrom(r *driverpb.LeaseReply) sdk.LeaseGrant {
	return sdk.LeaseGrant{OK: r.Ok, Fence: r.Fence, Remaining: time.Duration(r.Remaining)}
}

func entriesTo(entries []sdk.Entry) []*driverpb.Entry {
	messages := make([]driverpb.Entry, len(entries))
	pointers := make([]*driverpb.Entry, len(entries))
	for i, e := range entries {
		m := &messages[i]
		m.Key, m.Value, m.Ttl = e.Key, e.Value, int64(e.TTL)
		pointers[i] = m
	}
	return pointers
}

func failureFrom(f *driverpb.Failure) error { return wire.FromNames(f.Error, f.Message) }
