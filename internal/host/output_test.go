package host

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"
)

const goodHandshake = "1|1|unix|/tmp/x/plugin123|grpc|MIIBfoo"

func TestTheHandshakeIsFoundAmongNoise(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100<<10)
	for name, test := range map[string]struct {
		stdout    string
		handshake string
		noise     []string // beginnings
	}{
		"alone":                          {goodHandshake + "\n", goodHandshake, nil},
		"without certificate":            {"1|1|unix|/s|grpc|\n", "1|1|unix|/s|grpc|", nil},
		"four fields":                    {"1|1|unix|/s\n", "1|1|unix|/s", nil},
		"on TCP":                         {"1|1|tcp|127.0.0.1:1234|grpc|C\n", "1|1|tcp|127.0.0.1:1234|grpc|C", nil},
		"after a line":                   {"hello\n" + goodHandshake + "\n", goodHandshake, []string{"hello"}},
		"after half a line":              {"progress 10%" + goodHandshake + "\n", goodHandshake, []string{"progress 10%"}},
		"after a digit":                  {"progress 10" + goodHandshake + "\n", goodHandshake, []string{"progress 10"}},
		"after a line of 100 KiB":        {long + "\n" + goodHandshake + "\n", goodHandshake, []string{"xxx"}},
		"after half a line of 100 KiB":   {long + goodHandshake + "\n", goodHandshake, []string{"xxx"}},
		"before noise":                   {goodHandshake + "\nhello\n" + long + "\nbye\n", goodHandshake, []string{"hello", "xxx", "bye"}},
		"the first of two":               {goodHandshake + "\n" + "1|1|unix|/other|grpc|C\n", goodHandshake, []string{"1|1|unix|/other"}},
		"with a carriage return":         {goodHandshake + "\r\n", goodHandshake, nil},
		"nothing but noise":              {"a|b|c\n1|x|unix|/s\n\n", "", []string{"a|b|c", "1|x|unix"}},
		"followed by words on its line":  {"1|1|unix|/s|grpc|C and more\n", "1|1|unix|/s|grpc|C and more", nil},
		"not terminated before the end":  {"hello\n" + goodHandshake, goodHandshake, []string{"hello"}},
		"an unknown core protocol":       {"2|1|unix|/s|grpc|C\n", "2|1|unix|/s|grpc|C", nil},
		"a core protocol of many digits": {"10|1|unix|/s|grpc|C\n", "0|1|unix|/s|grpc|C", []string{"1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var handshake string
			var noise []string
			filterStdout(iotest.HalfReader(strings.NewReader(test.stdout)),
				func(s string) { handshake += s },
				func(l line) {
					if len(l.head) > 0 {
						noise = append(noise, string(l.head))
					}
				})
			if handshake != test.handshake {
				t.Errorf("handshake %q, want %q", handshake, test.handshake)
			}
			if len(noise) != len(test.noise) {
				t.Fatalf("%d lines of noise, want %d", len(noise), len(test.noise))
			}
			for i, want := range test.noise {
				if !strings.HasPrefix(noise[i], want) {
					t.Errorf("noise %d begins %.20q, want %q", i, noise[i], want)
				}
			}
		})
	}
}

func FuzzTheHandshakeFilterReadsEverything(f *testing.F) {
	f.Add([]byte(goodHandshake + "\n"))
	f.Add([]byte("x1|1|unix|/s|grpc\n\n\r\n|||\x00"))
	f.Add(bytes.Repeat([]byte("1|1|unix|"), 4000))
	f.Fuzz(func(t *testing.T, stdout []byte) {
		in := bytes.NewReader(stdout)
		handshakes := 0
		filterStdout(in, func(s string) {
			handshakes++
			if !handshakePattern.MatchString(s) || len(s) > handshakeWindow {
				t.Errorf("not a handshake: %q", s)
			}
		}, func(l line) {
			if len(l.head) > handshakeWindow || len(l.tail) > handshakeWindow {
				t.Errorf("a line of %d and %d bytes is kept", len(l.head), len(l.tail))
			}
		})
		if in.Len() != 0 || handshakes > 1 {
			t.Errorf("%d bytes unread, %d handshakes", in.Len(), handshakes)
		}
	})
}

func TestLinesKeepTheirEnds(t *testing.T) {
	t.Parallel()
	in := "ab\n" + strings.Repeat("x", 20) + strings.Repeat("y", 20) + "\n\nlast"
	var got []string
	eachLine(iotest.OneByteReader(strings.NewReader(in)), 16, func(l line) {
		text := string(l.head)
		if l.cut() {
			text += ".." + string(l.tail)
		}
		got = append(got, text)
	})
	want := []string{"ab", strings.Repeat("x", 16) + ".." + strings.Repeat("y", 15), "", "last"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestALineWriterCutsLines(t *testing.T) {
	t.Parallel()
	var got []string
	w := &lineWriter{line: func(l line) { got = append(got, string(l.head)) }}
	for _, s := range []string{"a", "b\nc\n", "d", strings.Repeat("x", handshakeWindow), "\n"} {
		if n, err := io.WriteString(w, s); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(got) != 4 || got[0] != "ab" || got[1] != "c" || got[2][:2] != "dx" {
		t.Errorf("got %.20q", got)
	}
}

func TestLevelsOfWhatADriverLogs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]logEntry{
		`plain words`:                       {slog.LevelInfo, "plain words", nil},
		`[WARN] careful`:                    {slog.LevelWarn, "[WARN] careful", nil},
		`[nonsense] x`:                      {slog.LevelInfo, "[nonsense] x", nil},
		`time=x level=ERROR msg="no"`:       {slog.LevelError, `time=x level=ERROR msg="no"`, nil},
		`{"level":"WARN","msg":"m"}`:        {slog.LevelWarn, "m", nil},
		`{"@level":"debug","@message":"m"}`: {slog.LevelDebug, "m", nil},
		`{"time":"t","level":"ERROR","msg":"m","k":"v","n":1}`: {slog.LevelError, "m",
			[]slog.Attr{slog.Group("fields", slog.String("k", "v"), slog.String("n", "1"))}},
		`{"@message":42}`:                               {slog.LevelInfo, `{"@message":42}`, nil},
		`{"@level":7,"@message":"m"}`:                   {slog.LevelInfo, "m", []slog.Attr{slog.Group("fields", slog.String("@level", "7"))}},
		`{"@timestamp":{},"@message":"m"}`:              {slog.LevelInfo, "m", nil},
		`{"msg":null}`:                                  {slog.LevelInfo, `{"msg":null}`, nil},
		`{"msg":"m"`:                                    {slog.LevelInfo, `{"msg":"m"`, nil},
		`{"msg":"m"} trailing`:                          {slog.LevelInfo, `{"msg":"m"} trailing`, nil},
		`{"msg":"m","deep":` + strings.Repeat("[", 100): {slog.LevelInfo, `{"msg":"m","deep":` + strings.Repeat("[", 100), nil},
	} {
		got := parseLog(text)
		if got.level != want.level || got.message != want.message || !equalAttrs(got.attrs, want.attrs) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func equalAttrs(a, b []slog.Attr) bool {
	return len(a) == len(b) && (len(a) == 0 || a[0].Equal(b[0]))
}

func FuzzAnyLineCanBeLogged(f *testing.F) {
	for _, s := range []string{`{"@message":42}`, `{"msg":"m","level":{}}`, `[ERROR`, "level=", "\xff\xfe", `{"a":1e999,"msg":""}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var out bytes.Buffer
		d := &driverLog{log: slog.New(slog.NewJSONHandler(&out, nil))}
		d.stderr(line{head: text, tail: text, size: len(text)})
		d.noise(line{head: text, tail: text, size: len(text) + 1})
		if n := len(d.lastLines()); n > 2 {
			t.Errorf("%d lines remembered", n)
		}
	})
}

func TestTheLastWordsOfAGoProgramAreErrors(t *testing.T) {
	t.Parallel()
	levels := &levelRecorder{}
	d := &driverLog{log: slog.New(levels)}
	for _, s := range []string{"all is well", "panic: oh no", "", "goroutine 1 [running]:", "main.main()"} {
		d.stderr(line{head: []byte(s), tail: []byte(s), size: len(s)})
	}
	want := []slog.Level{slog.LevelInfo, slog.LevelError, slog.LevelError, slog.LevelError}
	if len(levels.seen) != len(want) {
		t.Fatalf("got %v", levels.seen)
	}
	for i := range want {
		if levels.seen[i] != want[i] {
			t.Errorf("line %d has level %v, want %v", i, levels.seen[i], want[i])
		}
	}
}

type levelRecorder struct{ seen []slog.Level }

func (r *levelRecorder) Enabled(context.Context, slog.Level) bool { return true }
func (r *levelRecorder) Handle(_ context.Context, record slog.Record) error {
	r.seen = append(r.seen, record.Level)
	return nil
}
func (r *levelRecorder) WithAttrs([]slog.Attr) slog.Handler { return r }
func (r *levelRecorder) WithGroup(string) slog.Handler      { return r }

func TestTheTailIsBounded(t *testing.T) {
	t.Parallel()
	d := &driverLog{log: slog.New(slog.DiscardHandler)}
	for i := range 200 {
		s := strings.Repeat(string(rune('a'+i%26)), 10_000)
		d.stderr(line{head: []byte(s), tail: []byte(s), size: len(s)})
	}
	lines := d.lastLines()
	if len(lines) != tailLines {
		t.Errorf("%d lines are kept, want %d", len(lines), tailLines)
	}
	if last := lines[len(lines)-1]; len(last) > tailLineLimit+len("…") || last[0] != byte('a'+199%26) {
		t.Errorf("the last line has %d bytes and begins with %q", len(last), last[0])
	}
}
