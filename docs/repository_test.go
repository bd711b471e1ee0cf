package docs

import (
	"context"
	"fmt"

	cache "github.com/cachewright/cachewright/core"
)

// asserted is the first block of locks.md that has a repository.
func asserted(ctx context.Context, caches *cache.CacheManager, build func(context.Context) error) error {
	store, err := caches.Store("memory")
	if err != nil {
		return err
	}
	repository := store.(cache.Locker) // every repository is one, and so is caches for the default store
	return repository.Lock("report:build").Do(ctx, build)
}

// listed is the block of configuration.md.
func listed(ctx context.Context, caches *cache.CacheManager) error {
	store, err := caches.Store("memory")
	if err != nil {
		return err
	}
	repository := store.(*cache.CacheRepository)
	for key, err := range repository.Keys(ctx, "report:") {
		if err != nil {
			return err
		}
		left, found, err := repository.TTL(ctx, key)
		fmt.Println(key, left, found, err)
	}
	return nil
}
