package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// nest turns a dotted name and its value into options.
func nest(name string, v any) map[string]any {
	head, rest, nested := strings.Cut(name, ".")
	if nested {
		v = nest(rest, v)
	}
	return map[string]any{head: v}
}

// opened opens a store with the options and returns what reached the author.
func opened[C any](t *testing.T, options map[string]any) (C, error) {
	t.Helper()
	var got C
	d := Define("test", "1", func(_ context.Context, c C) (*fakeStore, error) {
		got = c
		return &fakeStore{}, nil
	})
	in, err := d.Open(t.Context(), options)
	if err != nil {
		return got, err
	}
	return got, in.Close(t.Context())
}

func TestDefaultsFillWhatIsNotGiven(t *testing.T) {
	t.Parallel()
	got, err := opened[everything](t, map[string]any{"path": "x"})
	if err != nil {
		t.Fatal(err)
	}
	want := everything{Path: "x", Mode: "safe", Sync: true, Number: 3, Ratio: 0.5, Sweep: time.Minute, Max: 64 << 20}
	want.TLS.Inner.Deep = 7
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestWhatIsGivenWins(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		options map[string]any
		holds   func(everything) bool
	}{
		"false beats a default of true":      {map[string]any{"sync": false}, func(e everything) bool { return !e.Sync }},
		"zero beats a default":               {map[string]any{"number": 0}, func(e everything) bool { return e.Number == 0 }},
		"an empty text beats a default":      {map[string]any{"max": 0, "password": ""}, func(e everything) bool { return e.Max == 0 }},
		"null is the default":                {map[string]any{"sync": nil}, func(e everything) bool { return e.Sync }},
		"text from the environment: bool":    {map[string]any{"sync": "false"}, func(e everything) bool { return !e.Sync }},
		"text from the environment: int":     {map[string]any{"number": "42"}, func(e everything) bool { return e.Number == 42 }},
		"text from the environment: float":   {map[string]any{"ratio": "0.25"}, func(e everything) bool { return e.Ratio == 0.25 }},
		"text from the environment: bytes":   {map[string]any{"max": "2KiB"}, func(e everything) bool { return e.Max == 2048 }},
		"text from the environment: strings": {map[string]any{"servers": "a, b"}, func(e everything) bool { return reflect.DeepEqual(e.Servers, []string{"a", "b"}) }},
		"a number from JSON keeps its digits": {map[string]any{"big": json.Number("9007199254740993")},
			func(e everything) bool { return e.Big == 9007199254740993 }},
		"a list":                 {map[string]any{"servers": []any{"a", "b"}}, func(e everything) bool { return len(e.Servers) == 2 }},
		"a map keeps its dots":   {map[string]any{"labels": map[string]any{"a.b": "c"}}, func(e everything) bool { return e.Labels["a.b"] == "c" }},
		"a nested option":        {nest("tls.cert", "pem"), func(e everything) bool { return e.TLS.Cert == "pem" && e.TLS.Inner.Deep == 7 }},
		"an option nested twice": {nest("tls.inner.deep", 9), func(e everything) bool { return e.TLS.Inner.Deep == 9 }},
		"a pointer tells 0 from nothing": {map[string]any{"limit": 0},
			func(e everything) bool { return e.Limit != nil && *e.Limit == 0 }},
		"a pointer that isn't given is nil": {nil, func(e everything) bool { return e.Limit == nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := map[string]any{"path": "x"}
			for key, v := range tc.options {
				options[key] = v
			}
			got, err := opened[everything](t, options)
			if err != nil {
				t.Fatal(err)
			}
			if !tc.holds(got) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestRefusedOptionsAreTyped(t *testing.T) {
	t.Parallel()
	_, err := opened[everything](t, map[string]any{"nope": 1})
	refused, ok := errors.AsType[*OptionsError](err)
	if !ok || len(refused.Problems) != 2 {
		t.Fatalf("err = %v, want an OptionsError with two problems", err)
	}
	if !errors.Is(err, ErrInvalidOptions) {
		t.Error("it does not match ErrInvalidOptions")
	}
}

func TestMistakesInADefinitionAreReportedAndDoNotPanic(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]Driver{
		"options must be a struct": define[int](),
		"option secret: field secret is not ex": define[struct {
			//lint:ignore U1000 an option that nobody can set is the mistake
			secret string `option:"secret"`
		}](),
		`an option is called [a-z][a-z0-9_]*, not ""`: define[struct {
			A string `option:",required"`
		}](),
		`not "a.b"`: define[struct {
			A string `option:"a.b"`
		}](),
		`not "Upper"`: define[struct {
			A string `option:"Upper"`
		}](),
		"option prefix: every store has a setting": define[struct {
			A string `option:"prefix"`
		}](),
		"option on_error: every store has a setting": define[struct {
			A string `option:"on_error"`
		}](),
		"option a: there are two": define[struct {
			A string `option:"a"`
			B string `option:"a"`
		}](),
		`option a: unknown flag "requierd"`: define[struct {
			A string `option:"a,requierd"`
		}](),
		`option a: unknown flag "path"`: define[struct {
			A int `option:"a,path"`
		}](),
		"option a: type chan int can't be an option": define[struct {
			A chan int `option:"a"`
		}](),
		"option a: type **int can't be an option": define[struct {
			A **int `option:"a"`
		}](),
		"option a: default wants a whole number": define[struct {
			A int `option:"a" default:"many"`
		}](),
		"option a: default wants a duration": define[struct {
			A time.Duration `option:"a" default:"60"`
		}](),
		"option a: default must be one of b, c": define[struct {
			A string `option:"a" default:"x" enum:"b,c"`
		}](),
		"option a: a required option has no default": define[struct {
			A string `option:"a,required" default:"x"`
		}](),
		"option a: an option that is a pointer has no default": define[struct {
			A *int `option:"a" default:"1"`
		}](),
		"option a: only text can be an enum": define[struct {
			A int `option:"a" enum:"1,2"`
		}](),
		"option n: type time.Time has no options in it": define[struct {
			N time.Time `option:"n"`
		}](),
		"option n: a struct has no flags": define[struct {
			N struct {
				A string `option:"a"`
			} `option:"n,required"`
		}](),
		"option n: a struct has no default": define[struct {
			N struct {
				A string `option:"a"`
			} `option:"n" default:"x"`
		}](),
		"option n.a: default wants": define[struct {
			N struct {
				A int `option:"a" default:"x"`
			} `option:"n"`
		}](),
		"a driver is called [a-z][a-z0-9_]*": Define("My Driver", "1", openFake[struct{}]),
		"made by sdk.Define":                 {},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			err := d.Err()
			if err == nil || !contains(err.Error(), want) {
				t.Errorf("Err() = %v, want %q in it", err, want)
			}
			if _, openErr := d.Open(t.Context(), nil); openErr == nil || openErr.Error() != err.Error() {
				t.Errorf("Open() = %v, want %v", openErr, err)
			}
		})
	}
}

func define[C any]() Driver { return Define("test", "1", openFake[C]) }

func openFake[C any](context.Context, C) (*fakeStore, error) { return &fakeStore{}, nil }

func TestOpenThatReturnsNeitherStoreNorError(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]Driver{
		"a nil pointer":   Define("test", "1", func(context.Context, struct{}) (*fakeStore, error) { return nil, nil }),
		"a nil interface": Define("test", "1", func(context.Context, struct{}) (Store, error) { return nil, nil }),
		"a nil pointer in an interface": Define("test", "1", func(context.Context, struct{}) (Store, error) {
			return (*fakeStore)(nil), nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, err := d.Open(t.Context(), nil)
			if !errors.Is(err, ErrInternal) || in != nil {
				t.Errorf("Open = %v, %v, want ErrInternal", in, err)
			}
		})
	}
}

func TestOpenThatFailsWithANilPointerFails(t *testing.T) {
	t.Parallel()
	cause := errors.New("no way")
	d := Define("test", "1", func(context.Context, struct{}) (*fakeStore, error) { return nil, cause })
	if in, err := d.Open(t.Context(), nil); !errors.Is(err, cause) || in != nil {
		t.Errorf("Open = %v, %v", in, err)
	}
}

func TestOpenThatPanicsFails(t *testing.T) {
	t.Parallel()
	d := Define("test", "1", func(context.Context, struct{}) (*fakeStore, error) { panic("on purpose, in open") })
	if _, err := d.Open(t.Context(), nil); !errors.Is(err, ErrInternal) || contains(err.Error(), "purpose") {
		t.Errorf("Open = %v, want ErrInternal without the panic's value", err)
	}
}

func TestOpenThatIgnoredItsContextIsUndone(t *testing.T) {
	t.Parallel()
	s := &fakeStore{}
	ctx, cancel := context.WithCancel(t.Context())
	d := Define("test", "1", func(context.Context, struct{}) (*fakeStore, error) {
		cancel()
		return s, nil
	})
	if _, err := d.Open(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Open = %v, want context.Canceled", err)
	}
	if s.closed.Load() != 1 {
		t.Error("the store was not closed")
	}
}

// FuzzOptions checks that what Check admits can be decoded, whatever it is.
func FuzzOptions(f *testing.F) {
	f.Add([]byte(`{"path": "x", "sync": "true", "tls": {"inner": {"deep": 1}}}`))
	f.Add([]byte(`{"path": {"a": [null]}, "labels": {"a": {}}, "max": "1e400", "sweep": "9999999h"}`))
	f.Add([]byte(`{"tls": {"inner": null, "cert": {"x": 1}}, "number": 1e3, "servers": [[]]}`))
	f.Add([]byte(`[1`))
	schema := schemaOf[everything](f)
	fields, err := fieldsOf(reflect.TypeFor[everything](), "", nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		options, err := decodeOptions(text)
		if err != nil {
			if !errors.Is(err, ErrInvalidOptions) {
				t.Errorf("%v does not match ErrInvalidOptions", err)
			}
			return
		}
		problems := schema.Check(options)
		var got everything
		err = decode(fields, schema, options, reflect.ValueOf(&got).Elem())
		if len(problems) == 0 && err != nil {
			t.Errorf("Check admits what decode refuses: %v", err)
		}
	})
}
