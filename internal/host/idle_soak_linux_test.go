//go:build soak

package host

import (
	"testing"
	"time"
)

func TestSoakAnIdleHostAndItsDriversUseNoTime(t *testing.T) { checkIdle(t, 10*time.Second) }
