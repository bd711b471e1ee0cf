package memcached

import (
	"context"

	"github.com/cachewright/cachewright/sdk"
)

func (s *store) Stats(ctx context.Context) ([]sdk.Stat, error) {
	return []sdk.Stat{{Name: "a", Value: "b"}}, nil
}
