package sdk

import "strconv"

// ParseInteger reads an integer as counters store it: 0, or digits without a
// leading zero, with a minus sign where negative, within int64. Anything else
// is not an integer.
func ParseInteger(value []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || string(FormatInteger(n)) != string(value) {
		return 0, false
	}
	return n, true
}

// FormatInteger writes n as counters store it.
func FormatInteger(n int64) []byte { return strconv.AppendInt(nil, n, 10) }

// AddInteger adds delta to the stored integer value, for stores that count by
// reading and writing. Its errors are ErrNotInteger and ErrOverflow.
func AddInteger(value []byte, delta int64) (int64, error) {
	n, ok := ParseInteger(value)
	if !ok {
		return 0, ErrNotInteger
	}
	sum := n + delta
	if (sum > n) != (delta > 0) && delta != 0 {
		return 0, ErrOverflow
	}
	return sum, nil
}
