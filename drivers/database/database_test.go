package database_test

import (
	"testing"

	"github.com/cachewright/cachewright/drivers/database"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk/drivertest"
)

func TestConformance(t *testing.T) {
	drivertest.Child(database.Driver) // which needs no server of its own
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	drivertest.Run(t, database.Driver, func(testing.TB) map[string]any {
		return map[string]any{"dsn": server.URL(""), "max_connections": 4}
	})
}
