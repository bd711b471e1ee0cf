package config

import (
	"strconv"
	"strings"
)

// policy reads how a store's TTLs and errors are treated.
func (s section) policy(store *Store) {
	if ttl := s.duration("default_ttl", false); ttl != nil {
		store.DefaultTTL = *ttl
	}
	store.TTLJitter = s.share("ttl_jitter")
	store.MissOnError = s.choice("on_error", "fail", []string{"fail", "miss"}) == "miss"
}

// share is a part of a whole, 0 to less than 1, as 10% or 0.1; 0 without the
// key.
func (s section) share(key string) float64 {
	v, ok := s.present(key)
	if !ok {
		return 0
	}
	share, ok := parseShare(v)
	if !ok || !(share >= 0 && share < 1) { // NaN is neither
		s.about(join(s.path, key), "wants a share below the whole, such as 10%% or 0.1")
		return 0
	}
	return share
}

func parseShare(v any) (share float64, ok bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	case string:
		number, percent := strings.CutSuffix(v, "%")
		share, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if percent {
			share /= 100
		}
		return share, err == nil
	}
	return 0, false
}
