package core_test

import (
	"errors"
	"strings"
	"testing"

	cache "github.com/cachewright/cachewright/core"
)

func TestADriverThatNobodyConfiguredIsNotDescribed(t *testing.T) {
	t.Parallel()
	m := newFake().open(t, cache.Config{})
	before := len(m.Drivers())
	_, err := m.DescribeDriver(t.Context(), "nosuch")
	if err == nil || !strings.Contains(err.Error(), `"nosuch"`) || !strings.Contains(err.Error(), "fake") {
		t.Errorf("DescribeDriver: %v; want what there is instead", err)
	}
	if errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("DescribeDriver: %v: trying again is of no use", err)
	}
	if after := len(m.Drivers()); after != before {
		t.Errorf("%d drivers became %d", before, after)
	}
}
