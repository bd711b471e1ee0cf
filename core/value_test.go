package core_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

type level int8

type celsius int

func (c celsius) MarshalJSON() ([]byte, error) { return json.Marshal(fmt.Sprintf("%d °C", int(c))) }

func TestIntegersAreStoredAsTheirText(t *testing.T) {
	f := newFake()
	r := f.repository(t)
	for _, codec := range []cache.Codec{cache.JSON, cache.Raw} {
		for value, want := range map[any]string{
			5: "5", int64(math.MinInt64): "-9223372036854775808", uint8(7): "7", level(-3): "-3", time.Second: "1000000000",
		} {
			if err := r.WithCodec(codec).Set(t.Context(), "k", value, cache.Forever); err != nil {
				t.Fatal(err)
			}
			if got, _ := f.stored("k"); got != want {
				t.Errorf("%s: %T is stored as %q, want %q", codec.Name(), value, got, want)
			}
		}
	}
	if err := r.Set(t.Context(), "k", celsius(20), cache.Forever); err != nil {
		t.Fatal(err)
	}
	if got, _ := f.stored("k"); got != `"20 °C"` {
		t.Errorf("an integer with a marshaller of its own is stored as %q", got)
	}
}

func TestOnlyIntegerTextIsReadAsAnInteger(t *testing.T) {
	r := newFake().repository(t)
	for text, want := range map[string]error{
		"7": nil, "-7": nil, "0": nil, "-0": nil, " 7": nil, // the last two are JSON's to read
		"007": cache.ErrCorrupt, "+7": cache.ErrCorrupt, "-": cache.ErrCorrupt, "-07": cache.ErrCorrupt, "": cache.ErrCorrupt,
		"7.5": cache.ErrWrongType, "1e3": cache.ErrWrongType, "99999999999999999999": cache.ErrWrongType,
	} {
		if err := r.WithCodec(cache.Raw).Set(t.Context(), "k", text, cache.Forever); err != nil {
			t.Fatal(err)
		}
		v, err := r.Get(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if err := v.Decode(&n); !errors.Is(err, want) {
			t.Errorf("%q decodes into %d with %v, want %v", text, n, err, want)
		}
	}
	v, err := cache.ValueOf(-7)
	var n uint
	if err := errors.Join(err, v.Decode(&n)); !errors.Is(err, cache.ErrWrongType) {
		t.Errorf("a negative integer into a uint: %d, %v", n, err)
	}
}

func TestACounterIsReadAsAnInteger(t *testing.T) {
	for _, codec := range []cache.Codec{cache.JSON, cache.Raw} {
		r := newFake().repository(t).WithCodec(codec)
		if _, err := r.Increment(t.Context(), "n", 300); err != nil {
			t.Fatal(err)
		}
		v, err := r.Get(t.Context(), "n")
		if err != nil {
			t.Fatal(err)
		}
		var n int
		var l level
		if err := v.Decode(&n); err != nil || n != 300 {
			t.Errorf("%s: decoded %d, %v", codec.Name(), n, err)
		}
		if err := v.Decode(&l); !errors.Is(err, cache.ErrWrongType) {
			t.Errorf("%s: 300 into 8 bits: %v, want ErrWrongType", codec.Name(), err)
		}
	}
}

func TestNumbersKeepTheirDigits(t *testing.T) {
	r := newFake().repository(t)
	if err := r.Set(t.Context(), "k", map[string]any{"big": uint64(math.MaxUint64)}, cache.Forever); err != nil {
		t.Fatal(err)
	}
	v, _ := r.Get(t.Context(), "k")
	var got any
	if err := v.Decode(&got); err != nil || fmt.Sprint(got) != "map[big:18446744073709551615]" {
		t.Errorf("decoded %v, %v", got, err)
	}
}

func TestS81NullAndAbsentAreTwoAnswers(t *testing.T) {
	r := newFake().repository(t)
	if err := r.Set(t.Context(), "null", nil, cache.Forever); err != nil {
		t.Fatal(err)
	}
	null, err1 := r.Get(t.Context(), "null")
	absent, err2 := r.Get(t.Context(), "absent")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if !null.Found() || !null.IsNull() || absent.Found() || absent.IsNull() {
		t.Errorf("null: %v, absent: %v", null, absent)
	}
	if ok, err := r.Has(t.Context(), "null"); !ok || err != nil {
		t.Errorf("Has(null): %t, %v", ok, err)
	}
	var n int
	p := new(int)
	if err := null.Decode(&n); !errors.Is(err, cache.ErrNull) {
		t.Errorf("null into int: %v, want ErrNull", err)
	}
	if err := null.Decode(&p); err != nil || p != nil {
		t.Errorf("null into a pointer: %v, %v", p, err)
	}
	if err := absent.Decode(&n); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("a miss: %v, want ErrMiss", err)
	}
	values, err := r.GetMany(t.Context(), []string{"null", "absent"})
	if err != nil || !values["null"].IsNull() || values["absent"].Found() {
		t.Errorf("GetMany: %v, %v", values, err)
	}
	if v, ok, err := cache.Of[*int](r).Get(t.Context(), "null"); v != nil || !ok || err != nil {
		t.Errorf("typed view of null: %v, %t, %v", v, ok, err)
	}
	if v, ok, err := cache.Of[*int](r).Get(t.Context(), "absent"); v != nil || ok || err != nil {
		t.Errorf("typed view of a miss: %v, %t, %v", v, ok, err)
	}
}

func TestWhatDoesNotDecodeIsAnErrorAndNeverAZeroValue(t *testing.T) {
	f := newFake()
	r := f.repository(t)
	for _, c := range []struct {
		name, stored string
		dst          any
		want         error
		says         string
	}{
		{"text into int", `"secret"`, new(int), cache.ErrWrongType, "JSON string, which does not fit Go type int"},
		{"object into a list", `{"secret":1}`, new([]int), cache.ErrWrongType, "JSON object, which does not fit Go type []int"},
		{"a time that is none", `"secret"`, new(time.Time), cache.ErrWrongType, "JSON string, which does not fit Go type time.Time"},
		{"half an object", `{"secret":`, new(any), cache.ErrCorrupt, "not valid JSON"},
		{"no JSON at all", "secret\x01", new(any), cache.ErrCorrupt, "not valid JSON"},
		{"nothing", "", new(any), cache.ErrCorrupt, "not valid JSON"},
		{"two values", `1 "secret"`, new(any), cache.ErrCorrupt, "more follows"},
		{"no pointer", `1`, 5, cache.ErrWrongType, "wants a pointer"},
	} {
		f.plant("user:1", c.stored)
		v, err := r.Get(t.Context(), "user:1")
		if err != nil {
			t.Fatal(err)
		}
		err = v.Decode(c.dst)
		if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.says) || !strings.Contains(fmt.Sprint(err), `"user:1"`) {
			t.Errorf("%s: %v", c.name, err)
		}
		if strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("%s: the error shows the value: %v", c.name, err)
		}
	}
}

func TestRawPassesBytesUntouchedAndRefusesNull(t *testing.T) {
	f := newFake()
	r := f.repository(t).WithCodec(cache.Raw)
	for _, want := range []string{"", "null", "\x00\xff", `"quoted"`} {
		if err := r.Set(t.Context(), "k", []byte(want), cache.Forever); err != nil {
			t.Fatal(err)
		}
		v, err := r.Get(t.Context(), "k")
		var bytes []byte
		if err := errors.Join(err, v.Decode(&bytes)); err != nil || string(bytes) != want || v.IsNull() || v.Bytes() == nil {
			t.Errorf("%q came back as %q, %v", want, bytes, err)
		}
	}
	if err := r.Set(t.Context(), "k", nil, cache.Forever); !errors.Is(err, cache.ErrNull) {
		t.Errorf("Set(nil): %v, want ErrNull", err)
	}
	if err := r.Set(t.Context(), "k", struct{}{}, cache.Forever); !errors.Is(err, cache.ErrWrongType) {
		t.Errorf("Set(struct): %v, want ErrWrongType", err)
	}
}

func TestAValueNeverPrintsWhatItHolds(t *testing.T) {
	v, err := cache.ValueOf("secret")
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("value", "v", v)
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", v, v, v, v), log.String()} {
		if strings.Contains(text, "secret") || !strings.Contains(text, "Value(8 bytes)") {
			t.Errorf("printed %s", text)
		}
	}
}

func TestAStringThatIsNoTextIsRefusedAndNotChanged(t *testing.T) {
	r := newFake().repository(t)
	if err := r.Set(t.Context(), "k", "secret\xff", cache.Forever); !errors.Is(err, cache.ErrWrongType) || strings.Contains(err.Error(), "secret") {
		t.Errorf("Set under JSON: %v, want ErrWrongType", err)
	}
	if err := r.WithCodec(cache.Raw).Set(t.Context(), "k", "secret\xff", cache.Forever); err != nil {
		t.Errorf("Set under raw: %v", err)
	}
}
