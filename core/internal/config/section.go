package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// gluedColon is what is wrong with {password:secret}, which is one long key.
const gluedColon = "is not a key here; a colon wants a blank behind it"

// A section reads one mapping, key by key.
type section struct {
	*report
	path   string
	values map[string]any
}

// section takes the mapping at a key. It is false without one.
func (s section) section(key string) (section, bool) {
	v, ok := s.present(key)
	if !ok {
		return section{}, false
	}
	values, ok := v.(map[string]any)
	if !ok {
		s.about(join(s.path, key), "wants keys with values below it")
		return section{}, false
	}
	return section{s.report, join(s.path, key), values}, true
}

// names are the keys, sorted.
func (s section) names() []string { return slices.Sorted(maps.Keys(s.values)) }

// present finds a value; one that is there and null is reported.
func (s section) present(key string) (any, bool) {
	v, ok := s.values[key]
	switch {
	case ok && v == nil && strings.Contains(key, ":"):
		s.about(join(s.path, key), gluedColon)
	case ok && v == nil:
		s.about(join(s.path, key), `has no value; leave the key out, or write "" for an empty text`)
	}
	return v, v != nil
}

func (s section) text(key string) (string, bool) {
	v, ok := s.present(key)
	if !ok {
		return "", false
	}
	text, ok := v.(string)
	if !ok {
		s.about(join(s.path, key), "%s", wantsText(v))
	}
	return text, ok
}

// wantsText is what is wrong with a value that is no text: quotes make text of a
// number, and not of a list.
func wantsText(v any) string {
	switch v.(type) {
	case []any:
		return "wants text, not a list"
	case map[string]any:
		return "wants text, not keys with values"
	}
	return "wants text; put it in quotes"
}

// required is text that must be there and not be empty.
func (s section) required(key string) string {
	text, _ := s.text(key)
	if text == "" {
		s.about(join(s.path, key), "is required")
	}
	return text
}

// choice is text out of known; without the key it is fallback.
func (s section) choice(key, fallback string, known []string) string {
	text, ok := s.text(key)
	if !ok {
		return fallback
	}
	if !slices.Contains(known, text) {
		s.about(join(s.path, key), "must be %s", oneOf(known))
		return fallback
	}
	return text
}

// texts are a list of texts. One text is a list too, as a variable spells it:
// with commas between the items.
func (s section) texts(key string) ([]string, bool) {
	v, ok := s.present(key)
	if !ok {
		return nil, false
	}
	if text, ok := v.(string); ok && s.origins.of(join(s.path, key)).Variable != "" {
		items := strings.Split(text, ",")
		for i := range items {
			items[i] = strings.TrimSpace(items[i])
		}
		return items, true
	}
	list, ok := v.([]any)
	if !ok {
		s.about(join(s.path, key), "wants a list, such as [one, two]")
		return nil, false
	}
	items := make([]string, len(list))
	for i, item := range list {
		text, ok := item.(string)
		if !ok {
			s.about(fmt.Sprintf("%s[%d]", join(s.path, key), i), "%s", wantsText(item))
		}
		items[i] = text
	}
	return items, true
}

// duration is nil without the key and where it isn't one. It is above zero, or
// zero too where that is allowed.
func (s section) duration(key string, zero bool) *time.Duration {
	v, ok := s.present(key)
	if !ok {
		return nil
	}
	d, reason := parseDuration(v)
	switch {
	case reason == "" && d < 0:
		reason = "must not be negative"
	case reason == "" && d == 0 && !zero:
		reason = "must be above zero"
	}
	if reason != "" {
		s.about(join(s.path, key), "%s", reason)
		return nil
	}
	return &d
}

// unitPattern is a number with a unit, of durations or of people.
var unitPattern = regexp.MustCompile(`^[-+]?[0-9.]+ *\pL`)

// parseDuration reads a text such as 60s. A bare number says what it lacks; no
// other value is quoted.
func parseDuration(v any) (d time.Duration, reason string) {
	switch v := v.(type) {
	case string:
		d, err := time.ParseDuration(v)
		if err != nil && unitPattern.MatchString(v) {
			return 0, "wants a duration in the units h, m, s and ms, such as 1h30m; a day is 24h"
		}
		if err != nil || strings.Trim(v, "+-0") == "" {
			return 0, "wants a duration with a unit, such as 60s"
		}
		return d, ""
	case int, int64, uint64, float64:
		return 0, fmt.Sprintf("is a number without a unit; write %vs for seconds", v)
	}
	return 0, "wants a duration with a unit, such as 60s"
}

// only reports every key but the known ones.
func (s section) only(known ...string) {
	for _, key := range s.names() {
		if !slices.Contains(known, key) {
			s.unknown(key, known)
		}
	}
}

// refuse reports those of the keys that are there.
func (s section) refuse(reason string, keys ...string) {
	for _, key := range keys {
		if _, given := s.values[key]; given {
			s.about(join(s.path, key), "%s", reason)
		}
	}
}

func (s section) unknown(key string, known []string) {
	if strings.Contains(key, ":") {
		s.about(join(s.path, key), gluedColon)
		return
	}
	s.about(join(s.path, key), "is not a key here%s", didYouMean(key, known))
}

func oneOf(known []string) string {
	if len(known) == 1 {
		return known[0]
	}
	last := len(known) - 1
	return strings.Join(known[:last], ", ") + " or " + known[last]
}
