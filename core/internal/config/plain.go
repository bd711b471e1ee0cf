package config

import (
	"fmt"
	"reflect"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// A plainer copies what a program made into what YAML would have given, within
// the same bounds.
type plainer struct {
	*report
	nodes int
}

func (p *plainer) mapping(key string, values map[string]any, depth int) map[string]any {
	plain := make(map[string]any, len(values))
	for name, v := range values {
		plain[name] = p.value(join(key, name), v, depth+1)
	}
	return plain
}

func (p *plainer) value(key string, v any, depth int) any {
	p.nodes++
	switch {
	case p.nodes > maxNodes:
		if p.nodes == maxNodes+1 {
			p.about("", "holds too many values; %d are allowed", maxNodes)
		}
		return nil
	case depth > maxDepth:
		p.about(key, "is nested too deeply; %d levels are allowed", maxDepth)
		return nil
	}
	return p.plain(key, v, depth)
}

func (p *plainer) plain(key string, v any, depth int) any {
	switch v := v.(type) {
	case nil, string, bool:
		return v
	case time.Duration:
		return v.String()
	case sdk.Bytes:
		return v.String()
	case map[string]any:
		return p.mapping(key, v, depth)
	case map[string]string:
		copied := make(map[string]any, len(v))
		for name, text := range v {
			copied[name] = text
		}
		return copied
	case []string:
		copied := make([]any, len(v))
		for i, text := range v {
			copied[i] = text
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i, item := range v {
			copied[i] = p.value(fmt.Sprintf("%s[%d]", key, i), item, depth+1)
		}
		return copied
	}
	return p.kind(key, v)
}

// kind takes numbers, and texts of a type of their own.
func (p *plainer) kind(key string, v any) any {
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return r.Int()
	case r.CanUint():
		return r.Uint()
	case r.CanFloat():
		return r.Float()
	case r.Kind() == reflect.String:
		return r.String()
	}
	p.about(key, "has the Go type %T, which stands for nothing in YAML", v)
	return nil
}
