package memory

import (
	"context"
	"errors"
)

// clearPage is how many entries one page of Clear removes.
const clearPage = 10_000

var errCursor = errors.New("the cursor is not one of this store's")

// Keys implements sdk.Lister.
func (s *store) Keys(_ context.Context, prefix string, from []byte, limit int) (keys []string, next []byte, err error) {
	c, ok := parseCursor(from)
	if !ok {
		return nil, nil, errCursor
	}
	page, after := s.index.page(c, prefix, max(limit, 1))
	for _, key := range page {
		if _, live := s.entries.GetEntryQuietly(key); live {
			keys = append(keys, key)
		}
	}
	return keys, after.bytes(), nil
}

// Clear implements sdk.Clearer. Entries stored behind the page that is being
// cleared stay.
func (s *store) Clear(ctx context.Context, prefix string, from []byte) (next []byte, removed int, err error) {
	c, ok := parseCursor(from)
	if !ok {
		return nil, 0, errCursor
	}
	page, after := s.index.page(c, prefix, clearPage)
	for _, key := range page {
		if err := ctx.Err(); err != nil {
			return nil, removed, err
		}
		if existed, _ := s.Delete(ctx, key); existed {
			removed++
		}
	}
	return after.bytes(), removed, nil
}
