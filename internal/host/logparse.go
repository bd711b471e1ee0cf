package host

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
)

// A logEntry is what a line of a driver's stderr says.
type logEntry struct {
	level   slog.Level
	message string
	attrs   []slog.Attr
}

// Names under which loggers put a line's level, message and time. The time is
// dropped: the host's log has its own.
var (
	levelNames   = []string{"level", "@level", "lvl", "severity"}
	messageNames = []string{"msg", "@message", "message"}
	timeNames    = []string{"time", "@timestamp", "timestamp", "ts"}
)

// maxLogAttrs bounds how many of a line's own fields go into the host's log.
const maxLogAttrs = 32

// parseLog understands JSON as slog, hclog, zap and others write it, logfmt's
// level=WARN and the prefix [WARN]. Whatever it doesn't understand, JSON with
// wrong types included, is a message at level Info.
func parseLog(text string) logEntry {
	if strings.HasPrefix(text, "{") {
		if e, ok := parseJSONLog(text); ok {
			return e
		}
	}
	return logEntry{level: levelInText(text), message: text}
}

func parseJSONLog(text string) (logEntry, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &fields) != nil {
		return logEntry{}, false
	}
	message, ok := takeString(fields, messageNames)
	if !ok {
		return logEntry{}, false
	}
	e := logEntry{message: message}
	if name, ok := takeString(fields, levelNames); ok {
		e.level, _ = levelOf(name)
	}
	for _, name := range timeNames {
		delete(fields, name)
	}
	if rest := attrsOf(fields); len(rest) > 0 {
		e.attrs = []slog.Attr{{Key: "fields", Value: slog.GroupValue(rest...)}}
	}
	return e, true
}

// takeString removes the first of the names that holds a string.
func takeString(fields map[string]json.RawMessage, names []string) (string, bool) {
	for _, name := range names {
		var s string
		if raw, ok := fields[name]; ok && json.Unmarshal(raw, &s) == nil && string(raw) != "null" {
			delete(fields, name)
			return s, true
		}
	}
	return "", false
}

// attrsOf keeps strings as they are and everything else as its JSON text, in
// order of the names.
func attrsOf(fields map[string]json.RawMessage) []slog.Attr {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	var attrs []slog.Attr
	for _, name := range names[:min(len(names), maxLogAttrs)] {
		var s string
		if json.Unmarshal(fields[name], &s) != nil {
			s = string(fields[name])
		}
		attrs = append(attrs, slog.String(name, s))
	}
	return attrs
}

// levelInText finds the level of a line that isn't JSON.
func levelInText(text string) slog.Level {
	if rest, ok := strings.CutPrefix(text, "["); ok {
		if name, _, ok := strings.Cut(rest, "]"); ok {
			if level, ok := levelOf(name); ok {
				return level
			}
		}
	}
	for word := range strings.FieldsSeq(text[:min(len(text), 256)]) {
		if name, ok := strings.CutPrefix(word, "level="); ok {
			level, _ := levelOf(strings.Trim(name, `"`))
			return level
		}
	}
	return slog.LevelInfo
}

func levelOf(name string) (slog.Level, bool) {
	switch strings.ToLower(name) {
	case "trace", "debug":
		return slog.LevelDebug, true
	case "info", "notice":
		return slog.LevelInfo, true
	case "warn", "warning":
		return slog.LevelWarn, true
	case "error", "err", "fatal", "panic", "critical":
		return slog.LevelError, true
	}
	return slog.LevelInfo, false
}
