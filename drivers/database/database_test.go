package database_test

import (
	"testing"

	"github.com/cachewright/cachewright/drivers/database"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk/drivertest"
)

func TestConformance(t *testing.T) {
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	drivertest.Run(t, database.Driver, func(testing.TB) map[string]any {
		return map[string]any{"dsn": server.URL("")}
	})
}
