package sdk

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
)

// Tags of an options struct, read by Define:
//
//	Path string        `option:"path,required,path" doc:"where entries live"`
//	Max  sdk.Bytes     `option:"max_bytes" default:"64MiB" doc:"…"`
//	Sync string        `option:"sync" default:"none" enum:"none,data" doc:"…"`
//	Pass string        `option:"password,secret" doc:"…"`
//	TLS  struct{ … }   `option:"tls"`
//
// The first word of option is the name in YAML, [a-z][a-z0-9_]*, and none of
// driver, prefix, codec, timeout and lock, which every store has; the flags
// after it are required, secret and path. Types are string, bool, int, int64, float64,
// time.Duration, Bytes, []string, map[string]string, and structs of them. A
// pointer to one is an option without a default that is nil where it isn't
// given, so that 0 can be told from nothing.
const (
	optionTag  = "option"
	defaultTag = "default"
	enumTag    = "enum"
	docTag     = "doc"
)

// nameForm is what drivers and options may be called.
var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// A field ties an option to its place in the options struct.
type field struct {
	option Option
	index  []int
}

// fieldsOf reads the tags of struct type t.
func fieldsOf(t reflect.Type, prefix string, index []int) ([]field, error) {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup(optionTag)
		if !tagged {
			continue
		}
		name, flags, _ := strings.Cut(tag, ",")
		at := append(append([]int(nil), index...), i)
		switch {
		case !f.IsExported():
			return nil, fmt.Errorf("option %s%s: field %s is not exported", prefix, name, f.Name)
		case !nameForm.MatchString(name):
			return nil, fmt.Errorf("field %s: an option is called [a-z][a-z0-9_]*, not %q", f.Name, name)
		case prefix == "" && slices.Contains(wire.StoreKeys(), name):
			return nil, fmt.Errorf("option %s: every store has a setting of that name; choose another", name)
		case f.Type.Kind() == reflect.Struct:
			nested, err := nestedFields(f, prefix+name, flags, at)
			if err != nil {
				return nil, err
			}
			fields = append(fields, nested...)
		default:
			option, err := readTags(f, prefix+name, flags)
			if err != nil {
				return nil, fmt.Errorf("option %s: %w", prefix+name, err)
			}
			fields = append(fields, field{option, at})
		}
	}
	return fields, uniqueNames(fields)
}

func nestedFields(f reflect.StructField, name, flags string, index []int) ([]field, error) {
	for _, tag := range []string{defaultTag, enumTag} {
		if _, given := f.Tag.Lookup(tag); given {
			return nil, fmt.Errorf("option %s: a struct has no %s of its own", name, tag)
		}
	}
	if flags != "" {
		return nil, fmt.Errorf("option %s: a struct has no flags of its own, such as %s", name, flags)
	}
	fields, err := fieldsOf(f.Type, name+".", index)
	if err == nil && len(fields) == 0 {
		return nil, fmt.Errorf("option %s: type %s has no options in it", name, f.Type)
	}
	return fields, err
}

func uniqueNames(fields []field) error {
	seen := make(map[string]bool, len(fields))
	for _, f := range fields {
		if seen[f.option.Name] {
			return fmt.Errorf("option %s: there are two of that name", f.option.Name)
		}
		seen[f.option.Name] = true
	}
	return nil
}

func readTags(f reflect.StructField, name, flags string) (Option, error) {
	o := Option{Name: name, Default: f.Tag.Get(defaultTag), Doc: f.Tag.Get(docTag)}
	if enum := f.Tag.Get(enumTag); enum != "" {
		o.Enum = strings.Split(enum, ",")
	}
	kind, ok := kindOf(f.Type)
	if !ok {
		return o, fmt.Errorf("type %s can't be an option", f.Type)
	}
	o.Kind = kind
	if len(o.Enum) > 0 && kind != KindString {
		return o, fmt.Errorf("only text can be an enum, not %s", f.Type)
	}
	for flag := range strings.SplitSeq(flags, ",") {
		switch {
		case flag == "":
		case flag == "required":
			o.Required = true
		case flag == "secret":
			o.Secret = true
		case flag == "path" && kind == KindString:
			o.Kind = KindPath
		default:
			return o, fmt.Errorf("unknown flag %q", flag)
		}
	}
	if o.Default == "" {
		return o, nil
	}
	if o.Required {
		return o, fmt.Errorf("a required option has no default")
	}
	if f.Type.Kind() == reflect.Pointer {
		return o, fmt.Errorf("an option that is a pointer has no default")
	}
	if reason := o.check(o.Default, true); reason != "" {
		return o, fmt.Errorf("default %s", reason)
	}
	return o, nil
}

func kindOf(t reflect.Type) (Kind, bool) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[time.Duration]():
		return KindDuration, true
	case reflect.TypeFor[Bytes]():
		return KindBytes, true
	case reflect.TypeFor[[]string]():
		return KindStrings, true
	case reflect.TypeFor[map[string]string]():
		return KindMap, true
	}
	switch t.Kind() {
	case reflect.String:
		return KindString, true
	case reflect.Bool:
		return KindBool, true
	case reflect.Int, reflect.Int64:
		return KindInt, true
	case reflect.Float64:
		return KindFloat, true
	}
	return "", false
}

// decode fills the struct that dst points to. Presence decides, so that an
// explicit false beats a default of true. It assumes checked options.
func decode(fields []field, schema Schema, options map[string]any, dst reflect.Value) error {
	given := schema.flatten("", options, nil)
	for _, f := range fields {
		v, ok := given[f.option.Name]
		if !ok || v == nil {
			if f.option.Default == "" {
				continue
			}
			v = f.option.Default
		}
		parsed, err := f.option.Kind.parse(v)
		if err != nil {
			return &OptionsError{[]Problem{{f.option.Name, err.Error()}}}
		}
		target := dst.FieldByIndex(f.index)
		if target.Kind() == reflect.Pointer {
			target.Set(reflect.New(target.Type().Elem()))
			target = target.Elem()
		}
		if n, isInt := parsed.(int64); isInt && target.OverflowInt(n) {
			return &OptionsError{[]Problem{{f.option.Name, "is too large for this machine"}}}
		}
		target.Set(reflect.ValueOf(parsed).Convert(target.Type()))
	}
	return nil
}
