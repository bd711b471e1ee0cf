package msgpack

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/cachewright/cachewright/core"
)

type profile struct {
	Name  string            `json:"name"`
	Born  time.Time         `json:"born"`
	Photo []byte            `json:"photo,omitempty"`
	Marks map[string]int    `json:"marks"`
	Next  *profile          `json:"next"`
	Other string            `msgpack:"o" json:"other"`
	Text  map[string]string `json:"-"`
}

type level int

func (l level) MarshalJSON() ([]byte, error)  { return json.Marshal(l.String()) }
func (l *level) UnmarshalJSON(b []byte) error { *l = 7; return nil }
func (l level) String() string                { return strings.Repeat("I", int(l)) }

func TestValuesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{
		"text":               "naïve \x00 text",
		"text that is none":  "a\xffb",
		"empty text":         "",
		"digits as text":     "42",
		"bytes":              []byte{0, 1, 0xff},
		"float":              2.5,
		"whole float":        float64(5),
		"infinity":           math.Inf(-1),
		"yes":                true,
		"list":               []string{"a", "b"},
		"map":                map[string]int{"a": 1, "b": -70000},
		"struct":             profile{Name: "Ada", Born: time.Unix(7, 123456789), Photo: []byte{1}, Marks: map[string]int{"x": 48}, Next: &profile{Name: "B"}, Other: "o"},
		"integer of its own": level(50),
	} {
		data, err := Codec.Encode(v)
		if err != nil {
			t.Errorf("%s: Encode: %v", name, err)
			continue
		}
		got := reflect.New(reflect.TypeOf(v))
		if err := Codec.Decode(data, got.Interface()); err != nil {
			t.Errorf("%s: Decode: %v", name, err)
			continue
		}
		if p, ok := got.Interface().(*profile); ok {
			p.Born, p.Next.Born = v.(profile).Born, v.(profile).Next.Born // compared below
			var again profile
			_ = Codec.Decode(data, &again)
			if !again.Born.Equal(v.(profile).Born) {
				t.Errorf("born %v, want %v", again.Born, v.(profile).Born)
			}
		}
		if !reflect.DeepEqual(got.Elem().Interface(), v) {
			t.Errorf("%s: %#v became %#v", name, v, got.Elem().Interface())
		}
		if Codec.IsNull(data) {
			t.Errorf("%s is null", name)
		}
	}
}

func TestFieldsHaveTheNamesOfTheirTags(t *testing.T) {
	t.Parallel()
	data, err := Codec.Encode(profile{Name: "Ada", Other: "x"})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := Codec.Decode(data, &got); err != nil {
		t.Fatal(err)
	}
	if got["name"] != "Ada" || got["o"] != "x" || got["photo"] != nil || got["Text"] != nil {
		t.Errorf("fields %v", got)
	}
}

func TestNumbersInAny(t *testing.T) {
	t.Parallel()
	data, err := Codec.Encode([]any{1, -1, uint8(200), uint64(math.MaxUint64), float32(0.5), nil, "x"})
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := Codec.Decode(data, &got); err != nil {
		t.Fatal(err)
	}
	want := []any{int64(1), int64(-1), int64(200), uint64(math.MaxUint64), 0.5, nil, "x"}
	list, _ := got.([]any)
	if len(list) != len(want) {
		t.Fatalf("got %#v", got)
	}
	for i := range want {
		if n, ok := list[i].(uint64); ok && n <= math.MaxInt64 {
			list[i] = int64(n)
		}
		if list[i] != want[i] {
			t.Errorf("item %d is %#v, want %#v", i, list[i], want[i])
		}
	}
}

func TestIntegersAreTextThatNoOtherValueIs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		"0": int64(0), "7": int64(7), "-5": int64(-5), "9223372036854775807": int64(math.MaxInt64),
		"-9223372036854775808": int64(math.MinInt64), "18446744073709551615": uint64(math.MaxUint64),
	} {
		var got any
		if err := Codec.Decode([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s became %#v, %v", text, got, err)
		}
		for _, dst := range []any{new(string), new(float64), new([]byte), new(struct{})} {
			if err := Codec.Decode([]byte(text), dst); !errors.Is(err, core.ErrWrongType) {
				t.Errorf("%s into %T: %v", text, dst, err)
			}
		}
	}
	for n := range 256 {
		data, err := Codec.Encode(level(n))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := integer(data); ok {
			t.Errorf("the MessagePack of %d looks like the text %q", n, data)
		}
	}
}

func TestNull(t *testing.T) {
	t.Parallel()
	for _, v := range []any{nil, (*profile)(nil), map[string]int(nil), []string(nil)} {
		data, err := Codec.Encode(v)
		if err != nil || !Codec.IsNull(data) {
			t.Errorf("Encode(%T) = %x, %v; want null", v, data, err)
		}
	}
}

func TestWhatCannotBeReadSaysWhyWithoutTheValue(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, data string
		dst        any
		is         error
		want       string
	}{
		{"nothing", "", new(any), core.ErrCorrupt, "not valid MessagePack"},
		{"the byte that is never used", "\xc1", new(any), core.ErrCorrupt, "not valid MessagePack"},
		{"cut short", "\xa8hunter", new(string), core.ErrCorrupt, "not valid MessagePack"},
		{"a promise of four billion values", "\xdd\xff\xff\xff\xff", new([]any), core.ErrCorrupt, "not valid MessagePack"},
		{"a promise of four gigabytes", "\xc6\xff\xff\xff\xffhunter2", new([]byte), core.ErrCorrupt, "not valid MessagePack"},
		{"two values", "\xa7hunter2\xc0", new(string), core.ErrCorrupt, "more follows the MessagePack value"},
		{"JSON", `{"hunter2":1}`, new(any), core.ErrCorrupt, "more follows the MessagePack value"},
		{"a bomb of arrays", strings.Repeat("\x91", 1<<20) + "\xc0", new(any), core.ErrCorrupt, "nested too deeply"},
		{"text for a number", "\xa7hunter2", new(int), core.ErrWrongType, "it holds a MessagePack string"},
		{"a map for a list", "\x81\xa7hunter2\x01", new([]string), core.ErrWrongType, "it holds a MessagePack map"},
		{"a number that is too large", "\xcd\x01\x00", new(chan int), core.ErrWrongType, "it holds a MessagePack integer"},
		{"an extension that nobody knows", "\xd4\x63\x00", new(any), core.ErrWrongType, "it holds a MessagePack extension"},
	} {
		err := Codec.Decode([]byte(test.data), test.dst)
		if !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v; want %v: %s", test.name, err, test.is, test.want)
		}
	}
	if _, err := Codec.Encode(make(chan int)); !errors.Is(err, core.ErrWrongType) || !strings.Contains(err.Error(), "chan int") {
		t.Errorf("Encode of a channel: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"", "5", "-12", "\xc0", "\x82\xa1a\x01\xa1b\x92\xc3\xcb00000000", "\xd6\xff0000", "\xc7\x0c\xff000000000000", "\xdf\x00\x00\x00\x01\xa0\xa0"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		formed := wellFormed(data) == nil
		for _, dst := range []any{new(any), new(profile), new(string), new([]byte), new(map[string]any), new([]int), new(time.Time), new(msgpack.RawMessage)} {
			err := Codec.Decode(data, dst)
			if err != nil && !errors.Is(err, core.ErrCorrupt) && !errors.Is(err, core.ErrWrongType) {
				t.Errorf("Decode into %T: %v", dst, err)
			}
			if formed && errors.Is(err, core.ErrCorrupt) {
				t.Errorf("well-formed, and corrupt: %v", err)
			}
		}
		if !bytes.Equal(before, data) {
			t.Error("Decode changed the bytes")
		}
	})
}
