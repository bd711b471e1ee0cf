package database

import (
	"strings"
	"testing"
)

func TestARefusedConnectionIsSaidOnce(t *testing.T) {
	t.Parallel()
	s := opened(t, settled("postgres://u@127.0.0.1:1/d"))
	_, _, err := s.Get(t.Context(), "k")
	if err == nil || strings.Count(err.Error(), "connection refused") != 1 || strings.ContainsAny(err.Error(), "\n\t") {
		t.Errorf("Get without a server: %v", err)
	}
}
