package host

import (
	"slices"
	"time"

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
