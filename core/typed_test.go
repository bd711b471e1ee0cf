package core_test

import (
	"errors"
	"testing"

	cache "github.com/cachewright/cachewright/core"
)

func TestABatchOfATypeKeepsTheKeysThatAreOfIt(t *testing.T) {
	t.Parallel()
	r := newFake().repository(t)
	for key, value := range map[string]any{"a": 1, "b": "text", "c": 3} {
		if err := r.Set(t.Context(), key, value, cache.Forever); err != nil {
			t.Fatal(err)
		}
	}
	found, err := cache.Of[int](r).GetMany(t.Context(), []string{"a", "b", "c", "d"})
	var failures *cache.BatchError
	if !errors.As(err, &failures) || len(failures.Failed) != 1 || !errors.Is(failures.Failed["b"], cache.ErrWrongType) {
		t.Errorf("the error is %v; want b's, and no other", err)
	}
	if len(found) != 2 || found["a"] != 1 || found["c"] != 3 {
		t.Errorf("found %v; want a and c", found)
	}
}
