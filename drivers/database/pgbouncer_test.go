package database_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/drivers/database"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk/drivertest"
)

// The pooler changes nothing between host and driver, so the suite runs in this
// process only.
func TestConformanceThroughATransactionPooler(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	pooler := servertest.StartPgBouncer(t, server, servertest.PgBouncerOptions{Settings: []string{"default_pool_size = 5"}})
	options := map[string]any{"dsn": pooler.URL(""), "pooler": "transaction", "max_connections": 4}
	for _, c := range drivertest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			r := &pooled{T: t, unique: strings.ToLower(rand.Text()[:12]), options: options}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			if _, err := r.open(ctx); err != nil {
				t.Fatal(err)
			}
			if why := c.Excuse(r.store); why != "" {
				t.Skip(why)
			}
			c.Run(ctx, r)
			if t.Failed() {
				t.Log(c.Rule)
			}
		})
	}
}

// Pooled is a drivertest.T of stores in this process.
type pooled struct {
	*testing.T
	unique  string
	options map[string]any
	store   drivertest.Store
}

func (p *pooled) Unique() string          { return p.unique }
func (p *pooled) Store() drivertest.Store { return p.store }

func (p *pooled) Another(ctx context.Context) (drivertest.Store, error) {
	s, err := database.Driver.Open(ctx, p.options)
	if err != nil {
		return nil, err
	}
	p.Cleanup(func() { s.Close(context.Background()) })
	return s, nil
}

func (p *pooled) Reopen(ctx context.Context) (drivertest.Store, error) {
	if err := p.store.Close(ctx); err != nil {
		return nil, err
	}
	return p.open(ctx)
}

func (p *pooled) open(ctx context.Context) (s drivertest.Store, err error) {
	p.store, err = p.Another(ctx)
	return p.store, err
}
