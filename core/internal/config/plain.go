package config

import (
	"fmt"
	"reflect"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// plainMap copies what a program made into what YAML would have given.
func (l *loader) plainMap(key string, values map[string]any, depth int) map[string]any {
	plain := make(map[string]any, len(values))
	for name, v := range values {
		plain[name] = l.plain(join(key, name), v, depth+1)
	}
	return plain
}

func (l *loader) plain(key string, v any, depth int) any {
	if depth > maxDepth {
		l.about(key, "is nested too deeply; %d levels are allowed", maxDepth)
		return nil
	}
	switch v := v.(type) {
	case nil, string, bool:
		return v
	case time.Duration:
		return v.String()
	case sdk.Bytes:
		return v.String()
	case map[string]any:
		return l.plainMap(key, v, depth)
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
			copied[i] = l.plain(fmt.Sprintf("%s[%d]", key, i), item, depth+1)
		}
		return copied
	}
	return l.plainKind(key, v)
}

// plainKind takes numbers, and texts of a type of their own.
func (l *loader) plainKind(key string, v any) any {
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
	l.about(key, "has the Go type %T, which stands for nothing in YAML", v)
	return nil
}
