package core

import (
	"bytes"
	"errors"
	"testing"
	"time"
)

func FuzzUnsealedTakesAnythingAndLosesNothing(f *testing.F) {
	f.Add([]byte("plain"))
	f.Add([]byte(headerMagic))
	f.Add(envelope{kind: kindValue, written: time.UnixMilli(1), due: time.UnixMilli(2), took: time.Second, payload: []byte("v")}.sealed())
	f.Fuzz(func(t *testing.T, data []byte) {
		if e, err := unsealed(data); err != nil && !errors.Is(err, ErrCorrupt) || err == nil && !hasHeader(data) && !bytes.Equal(e.payload, data) {
			t.Errorf("%q: %q, %v", data, e.payload, err)
		}
		if got, due, found, err := current(escaped(data), true); !found || due != 0 || err != nil || !bytes.Equal(got, data) {
			t.Errorf("%q came back as %q, %t, %v", data, got, found, err)
		}
	})
}

func TestAnEnvelopeComesBackAsItWas(t *testing.T) {
	want := envelope{kind: kindValue, written: time.UnixMilli(1700000000001), due: time.UnixMilli(1700000060002), took: 1500 * time.Millisecond, payload: []byte("value")}
	got, err := unsealed(want.sealed())
	if err != nil || got.kind != want.kind || !got.written.Equal(want.written) || !got.due.Equal(want.due) || got.took != want.took || !bytes.Equal(got.payload, want.payload) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	sealed := want.sealed()
	for i := range headerSize {
		damaged := bytes.Clone(sealed)
		damaged[i] ^= 1
		if e, err := unsealed(damaged); i >= len(headerMagic) && !errors.Is(err, ErrCorrupt) {
			t.Errorf("byte %d changed: %+v, %v", i, e, err)
		}
	}
	for n := len(headerMagic); n < headerSize; n++ {
		if _, err := unsealed(sealed[:n]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
}

func TestReadingWithoutAHeaderCostsNoAllocation(t *testing.T) {
	data := []byte(`{"plain":"value"}`)
	if n := testing.AllocsPerRun(100, func() {
		if _, _, found, err := current(escaped(data), true); !found || err != nil {
			t.Error(found, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
