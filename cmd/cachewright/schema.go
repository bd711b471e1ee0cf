package main

import (
	"encoding/json"
	"io"
	"maps"
	"strings"

	"github.com/cachewright/cachewright/internal/builtin"
	"github.com/cachewright/cachewright/sdk"
)

// A schema is JSON Schema.
type schema = map[string]any

const (
	namePattern = `^[a-z][a-z0-9_]*$`
	// reference is a text that something else is put into.
	reference       = `\$\{`
	durationPattern = `^[+-]?([0-9]*\.?[0-9]+(ns|us|µs|ms|s|m|h))+$|` + reference
	bytesPattern    = `^[0-9]+(\.[0-9]+)? *([KMGT]i?B|B)?$|` + reference
	prefixPattern   = `^[A-Za-z0-9._-]*$|` + reference
)

func writeIndented(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// configurationSchema is that of a file. It is made for editors: what it takes
// may still be refused, by rules that span keys, but what it refuses is wrong.
func configurationSchema() schema {
	defs := schema{"driver": driverSchema(), "lock": lockSchema(), "compress": compressSchema(), "encrypt": encryptSchema()}
	var choices []any
	for _, name := range builtin.Names() {
		d, _ := builtin.Lookup(name)
		defs["store_"+name] = object("A store of the built-in driver "+name+".", merged(storeKeys(), optionsOf(d.Schema)))
		choices = append(choices, schema{
			"if":   schema{"properties": schema{"driver": schema{"const": name}}, "required": []string{"driver"}},
			"then": schema{"$ref": "#/$defs/store_" + name},
		})
	}
	defs["store"] = schema{"type": "object", "properties": storeKeys(), "allOf": choices}
	root := object("A Cachewright configuration. Variables of the environment may set any of it, so that no key is required here.", schema{
		"default": text("The store that calls without a name go to."),
		"prefix":  schema{"type": "string", "pattern": prefixPattern, "description": "Stands before every key, with a colon. A store's own prefix replaces it."},
		"drivers": named("How drivers run, by name. A driver that isn't here is the built-in of that name.", schema{"anyOf": []any{schema{"type": "null"}, ref("driver")}}),
		"stores":  named("What to open, by name.", ref("store")),
	})
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Cachewright configuration"
	root["$defs"] = defs
	return root
}

func object(description string, properties schema) schema {
	return schema{"type": "object", "description": description, "properties": properties, "additionalProperties": false}
}

// named is a mapping of names that users choose.
func named(description string, value schema) schema {
	return schema{"type": "object", "description": description, "patternProperties": schema{namePattern: value}, "additionalProperties": false}
}

func ref(name string) schema         { return schema{"$ref": "#/$defs/" + name} }
func text(description string) schema { return schema{"type": "string", "description": description} }

func merged(a, b schema) schema {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// words is one of a few, or a reference.
func words(description string, options ...string) schema {
	return schema{"description": description, "anyOf": []any{schema{"enum": options}, schema{"type": "string", "pattern": reference}}}
}

func duration(description string) schema {
	return schema{"type": "string", "pattern": durationPattern, "description": description}
}

func size(description string) schema {
	return schema{"description": description, "anyOf": []any{schema{"type": "integer", "minimum": 0}, schema{"type": "string", "pattern": bytesPattern}}}
}

// storeKeys are those of every store.
func storeKeys() schema {
	return schema{
		"driver":      text("A driver of this file, or a built-in: " + strings.Join(builtin.Names(), ", ") + "."),
		"prefix":      schema{"type": "string", "pattern": prefixPattern, "description": `Replaces the global prefix; "" is none.`},
		"codec":       text("How values become bytes: json (the default), raw, msgpack, or one of the application's own."),
		"compress":    schema{"description": "Compress values above a size.", "anyOf": []any{text("The algorithm."), ref("compress")}},
		"encrypt":     ref("encrypt"),
		"timeout":     duration("Bounds a call whose context has no deadline. Default 5s."),
		"default_ttl": duration("How long an entry lives that is written without a TTL."),
		"ttl_jitter":  schema{"type": []string{"number", "string"}, "description": "The most that a TTL is shortened by, as a share of it: 10% or 0.1."},
		"on_error":    words("miss makes a miss of a read that the store can't answer; fail, the default, an error.", "fail", "miss"),
		"lock":        ref("lock"),
	}
}

func driverSchema() schema {
	return object("How a driver runs.", schema{
		"run":           words("builtin (the default) starts the application itself as the driver of that name; command starts a program.", "builtin", "command"),
		"command":       schema{"type": "array", "items": schema{"type": "string"}, "minItems": 1, "description": "With run: command, the program and its arguments."},
		"sha256":        schema{"type": "object", "description": "With run: command, the digest that the program must have, by platform.", "patternProperties": schema{"^[a-z0-9]+/[a-z0-9]+$": schema{"type": "string", "pattern": "^[0-9a-fA-F]{64}$|" + reference}}, "additionalProperties": false},
		"env":           schema{"type": "object", "description": "Variables added to those that a driver inherits.", "additionalProperties": schema{"type": "string"}},
		"start_timeout": duration("How long the process may take to become ready."),
		"transport":     words("What calls travel on: auto, the default, is the fast plane where the driver serves it, and else gRPC; grpc is gRPC always.", "auto", "grpc"),
	})
}

func lockSchema() schema {
	return object("How the store's locks work.", schema{
		"strategy": words("Without it, the driver decides.", "local", "lease", "redlock", "exclusive"),
		"timeout":  duration("The one control of a lock; what it bounds depends on the strategy."),
		"lease":    duration("With strategy exclusive, how long the lock outlives a holder that stopped renewing it."),
		"wait":     duration("With strategy exclusive, how long to wait for the lock; 0s tries once."),
	})
}

func compressSchema() schema {
	return object("Compress values.", schema{
		"algorithm": text("zstd, the default, or one of the application's own."),
		"above":     size("The least size of a value that is worth it."),
		"max_size":  size("The most that a value may have, decompressed."),
	})
}

func encryptSchema() schema {
	return object("Encrypt values, so that who reads or changes the store learns nothing and is found out.", schema{
		"algorithm": text("The cipher."),
		"key":       text("The id of the key that encrypts; the others decrypt only."),
		"keys":      schema{"type": "object", "description": "Keys by id: 32 bytes in base64 or hexadecimal, best as ${file:PATH} or ${NAME}.", "additionalProperties": schema{"type": "string"}},
	})
}

// optionsOf turns a driver's options into properties; dotted names nest.
func optionsOf(options sdk.Schema) schema {
	properties := schema{}
	for _, o := range options {
		at := properties
		path := strings.Split(o.Name, ".")
		for _, name := range path[:len(path)-1] {
			nested, ok := at[name].(schema)
			if !ok {
				nested = schema{"type": "object", "properties": schema{}, "additionalProperties": false}
				at[name] = nested
			}
			at = nested["properties"].(schema)
		}
		at[path[len(path)-1]] = optionSchema(o)
	}
	return properties
}

func optionSchema(o sdk.Option) schema {
	s := kindSchema(o)
	s["description"] = sentence(o.Doc)
	if o.Default != "" && !o.Secret {
		s["default"] = o.Default
	}
	return s
}

// kindSchema takes text for every scalar: a reference is text, and so is what
// it stands for.
func kindSchema(o sdk.Option) schema {
	either := func(kind, pattern string) schema {
		return schema{"anyOf": []any{schema{"type": kind}, schema{"type": "string", "pattern": pattern + "|" + reference}}}
	}
	switch {
	case len(o.Enum) > 0:
		return words("", o.Enum...)
	case o.Kind == sdk.KindBool:
		return either("boolean", "^(true|false)$")
	case o.Kind == sdk.KindInt:
		return either("integer", "^[+-]?[0-9]+$")
	case o.Kind == sdk.KindFloat:
		return either("number", "^[+-]?[0-9.]+([eE][+-]?[0-9]+)?$")
	case o.Kind == sdk.KindDuration:
		return duration("")
	case o.Kind == sdk.KindBytes:
		return size("")
	case o.Kind == sdk.KindStrings:
		return schema{"anyOf": []any{schema{"type": "array", "items": schema{"type": "string"}}, schema{"type": "string"}}}
	case o.Kind == sdk.KindMap:
		return schema{"type": "object", "additionalProperties": schema{"type": "string"}}
	}
	return schema{"type": "string"}
}

// sentence is a driver's note with a capital and a full stop.
func sentence(doc string) string {
	if doc == "" {
		return ""
	}
	return strings.ToUpper(doc[:1]) + doc[1:] + "."
}
