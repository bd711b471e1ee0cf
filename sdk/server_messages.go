package sdk

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cachewright/cachewright/internal/wire/driverpb"
)

func schemaMessages(schema Schema) []*driverpb.Option {
	options := make([]*driverpb.Option, len(schema))
	for i, o := range schema {
		options[i] = &driverpb.Option{
			Name:     o.Name,
			Kind:     string(o.Kind),
			Required: o.Required,
			Secret:   o.Secret,
			Default:  o.Default,
			Enum:     o.Enum,
			Doc:      o.Doc,
		}
	}
	return options
}

func capabilityNames(capabilities Capabilities) []string {
	names := make([]string, len(capabilities))
	for i, c := range capabilities {
		names[i] = string(c)
	}
	return names
}

func traitsMessage(t Traits) *driverpb.Traits {
	return &driverpb.Traits{
		Granularity:     int64(t.Granularity),
		MaxKey:          uint32(t.MaxKey),
		MaxValue:        uint64(max(0, t.MaxValue)),
		LockStrategy:    t.LockStrategy,
		LockScope:       string(t.LockScope),
		ShortestLease:   int64(t.ShortestLease),
		Class:           string(t.Class),
		ReleaseCompares: t.ReleaseCompares,
		Space:           distinctText(t.Space),
	}
}

func statMessages(stats []Stat) []*driverpb.Stat {
	messages := make([]*driverpb.Stat, len(stats))
	for i, s := range stats {
		messages[i] = &driverpb.Stat{
			Name:    strings.ToValidUTF8(s.Name, "?"),
			Value:   strings.ToValidUTF8(s.Value, "?"),
			Warning: strings.ToValidUTF8(s.Warning, "?"),
		}
	}
	return messages
}

// distinctText spells bytes that are no UTF-8, as the name of a directory may
// be, so that two different ones stay different.
func distinctText(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strconv.Quote(text)
}
