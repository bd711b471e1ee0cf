package sdk

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is an option that counts bytes: 1048576, 64MiB, 1GB.
type Bytes int64

var byteUnits = []struct {
	suffix string
	factor float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"B", 1},
}

// String writes the largest binary unit that divides b.
func (b Bytes) String() string {
	for i := 3; i >= 0; i-- {
		unit := byteUnits[i]
		if factor := Bytes(unit.factor); b >= factor && b%factor == 0 {
			return strconv.FormatInt(int64(b/factor), 10) + unit.suffix
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

// ParseBytes reads a number of bytes as a configuration has it: a whole number,
// or text with or without a unit.
func ParseBytes(v any) (Bytes, error) { return parseBytes(v) }

func parseBytes(v any) (Bytes, error) {
	text := strings.TrimSpace(scalar(v))
	factor := 1.0
	for _, unit := range byteUnits {
		if number, ok := strings.CutSuffix(text, unit.suffix); ok {
			text, factor = strings.TrimSpace(number), unit.factor
			break
		}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && factor == 1 && n >= 0 {
		return Bytes(n), nil // exact where a float is not
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || n*factor >= math.MaxInt64 || n*factor != math.Trunc(n*factor) {
		return 0, fmt.Errorf("wants a number of bytes, such as 64MiB")
	}
	return Bytes(n * factor), nil
}
