package sdk

import "testing"

func TestBytesAreParsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Bytes{
		"0": 0, "1048576": 1 << 20, "64MiB": 64 << 20, "1GB": 1e9, "1.5KiB": 1536, " 2 KB ": 2000, "3B": 3, "1TiB": 1 << 40,
		"9007199254740993": 9007199254740993, "9223372036854775807": 9223372036854775807,
	} {
		if got, err := parseBytes(text); err != nil || got != want {
			t.Errorf("parseBytes(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "many", "1.5", "MiB", "1 XB", "9223372036854775808", "9e30", "NaN", "Inf", "1MiBMiB"} {
		if got, err := parseBytes(text); err == nil {
			t.Errorf("parseBytes(%q) = %d, want an error", text, got)
		}
	}
	for _, v := range []any{true, nil, []any{1}, map[string]any{}} {
		if got, err := parseBytes(v); err == nil {
			t.Errorf("parseBytes(%v) = %d, want an error", v, got)
		}
	}
}

func TestBytesAreWrittenAsTheyAreRead(t *testing.T) {
	t.Parallel()
	for b, want := range map[Bytes]string{
		0: "0B", 1: "1B", 1000: "1000B", 1024: "1KiB", 1536: "1536B", 64 << 20: "64MiB", 3 << 30: "3GiB", 1 << 40: "1TiB",
	} {
		if got := b.String(); got != want {
			t.Errorf("Bytes(%d) = %s, want %s", int64(b), got, want)
		}
		if back, err := parseBytes(b.String()); err != nil || back != b {
			t.Errorf("parseBytes(%s) = %d, %v", b, back, err)
		}
	}
}
