package config

import "strings"

// FromFile reports whether the value at a dotted key, or a part of it, came out
// of another file, by ${file:PATH}, which is for secrets.
func (c *Config) FromFile(key string) bool {
	for read := range c.fromFiles {
		if read == key || strings.HasPrefix(read, key+".") || strings.HasPrefix(read, key+"[") {
			return true
		}
	}
	return false
}

// Written is where somebody wrote the value at a dotted key, or a part of it;
// false: nobody did, and what counts is a default.
func (c *Config) Written(key string) (Position, bool) {
	for _, spelling := range []string{key, strings.ToLower(key)} { // variables spell options in lower case
		if p, ok := c.origins[spelling]; ok {
			return p, true
		}
		if p, ok := c.origins.below(spelling + "."); ok {
			return p, true
		}
	}
	return Position{}, false
}
