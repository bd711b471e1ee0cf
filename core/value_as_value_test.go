package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/cachewright/cachewright/codecs/msgpack"
	cache "github.com/cachewright/cachewright/core"
)

// What a read of one cache gave is easily returned by the resolver of another:
// without this an empty struct would be stored.
func TestAValueIsNoValueToStore(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	of, err := cache.ValueOf("hunter2")
	must(t, err)
	type holder struct{ Inside cache.Value }
	for _, codec := range []cache.Codec{cache.JSON, msgpack.Codec, cache.Raw} {
		f := newFake()
		r := f.repository(t).WithCodec(codec)
		for name, value := range map[string]any{"itself": of, "a pointer": &of, "in a struct": holder{of}, "in a list": []cache.Value{of}, "in a map": map[string]any{"a": of}} {
			if err := r.Set(ctx, "k", value, time.Minute); err == nil {
				t.Errorf("%s, %s: stored", codec.Name(), name)
			}
			if _, err := r.Remember(ctx, "k", time.Minute, func(context.Context) (any, error) { return value, nil }); err == nil {
				t.Errorf("%s, %s: remembered", codec.Name(), name)
			}
		}
		if stored, ok := f.stored("k"); ok {
			t.Errorf("%s: %q is stored", codec.Name(), stored)
		}
	}
	if _, err := json.Marshal(of); err == nil || errors.Is(err, cache.ErrCorrupt) {
		t.Errorf("json.Marshal: %v", err)
	}
}
