package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	ours      = "CACHEWRIGHT_"
	level     = "__"
	ownConfig = ours + "CONFIG"

	defaultFile = "config.yaml"
)

// An environment holds variables by name.
type environment map[string]string

// newEnvironment reads NAME=value; the last of a name counts, as it does for a
// child process.
func newEnvironment(environ []string) environment {
	env := make(environment, len(environ))
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			env[name] = value
		}
	}
	return env
}

// Find are the files that an empty path means: those that $CACHEWRIGHT_CONFIG
// lists, separated as in $PATH, else config.yaml in the working directory.
// Another path is returned as it is. A nil environ is the process's own.
func Find(path string, environ []string) []string {
	found, _ := newEnvironment(processEnviron(environ)).find(path)
	return found
}

// find also tells what named the files, the zero Position for an argument or
// nothing.
func (env environment) find(path string) ([]string, Position) {
	if path != "" {
		return []string{path}, Position{}
	}
	if named := env[ownConfig]; named != "" {
		return filepath.SplitList(named), Position{Variable: ownConfig}
	}
	return []string{defaultFile}, Position{}
}

// variables are the layer of CACHEWRIGHT_ variables over a file. They set keys
// of stores and drivers that are there already: a name that isn't is a typo.
type variables struct {
	*report
	layer
	file layer
}

func (env environment) variables(file layer, r *report) layer {
	v := variables{r, layer{map[string]any{}, origins{}}, file}
	names := slices.Sorted(maps.Keys(env))
	for _, name := range names { // a store's driver makes that driver known
		if rest, ok := cutFold(name, "STORES"+level); ok {
			v.section("stores", rest, name, env[name], file.mapping("stores"))
		}
	}
	for _, name := range names {
		rest, _ := strings.CutPrefix(strings.ToUpper(name), ours)
		_, isStore := cutFold(name, "STORES"+level)
		driver, isDriver := cutFold(name, "DRIVERS"+level)
		switch {
		case isStore || !strings.HasPrefix(name, ours):
		case rest == "DEFAULT", rest == "PREFIX":
			v.put([]string{strings.ToLower(rest)}, env[name], name)
		case isDriver:
			v.section("drivers", driver, name, env[name], v.driverNames())
		case isMistaken(rest):
			v.at(Position{Variable: name}, "", "sets nothing; levels are separated by two underscores, as in %sSTORES__REDIS__ADDR", ours)
		}
	}
	return v.layer
}

// cutFold gives what follows CACHEWRIGHT_ and a start that is matched without
// case.
func cutFold(name, start string) (rest string, ok bool) {
	start = ours + start
	if !strings.HasPrefix(name, ours) || len(name) < len(start) || !strings.EqualFold(name[:len(start)], start) {
		return "", false
	}
	return name[len(start):], true
}

// isMistaken tells a variable that was meant for this product from the others
// that share its prefix.
func isMistaken(rest string) bool {
	return strings.HasPrefix(rest, "DEFAULT") || strings.HasPrefix(rest, "PREFIX") ||
		rest == "STORES" || strings.HasPrefix(rest, "STORES_") ||
		rest == "DRIVERS" || strings.HasPrefix(rest, "DRIVERS_")
}

// driverNames are the drivers that the file declares or a store names.
func (v variables) driverNames() map[string]any {
	names := maps.Clone(v.file.mapping("drivers"))
	if names == nil {
		names = make(map[string]any)
	}
	for store := range v.file.mapping("stores") {
		for _, l := range []layer{v.file, v.layer} {
			if value, _ := l.get("stores", store, "driver"); value != nil {
				if name, ok := value.(string); ok && names[name] == nil {
					names[name] = map[string]any{}
				}
			}
		}
	}
	return names
}

// section takes a variable below stores or drivers; known are the names there.
func (v variables) section(section, rest, variable, value string, known map[string]any) {
	name, below, ok := matchName(rest, known)
	if !ok {
		written := strings.ToLower(name)
		v.at(Position{Variable: variable}, join(section, written), "there is nothing of that name%s",
			didYouMean(written, names(known)))
		return
	}
	levels := strings.Split(below, level)
	if slices.Contains(levels, "") {
		v.at(Position{Variable: variable}, join(section, name), "lacks a key between or after the double underscores")
		return
	}
	path := []string{section, name}
	at, _ := known[name].(map[string]any)
	for i, written := range levels {
		verbatim := section == "drivers" && i > 0 && path[2] == "env"
		path = append(path, matchKey(written, at, verbatim))
		at, _ = at[path[len(path)-1]].(map[string]any)
	}
	v.put(path, value, variable)
}

// names are those of stores or drivers, sorted. What can be none is left out: it
// may be a value that slipped into the key.
func names(known map[string]any) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(name string) bool { return !namePattern.MatchString(name) })
}

// matchName splits NAME__KEY, without case, by the longest name that is known.
func matchName(rest string, known map[string]any) (name, below string, ok bool) {
	lower := strings.ToLower(rest)
	for candidate := range known {
		prefix := strings.ToLower(candidate) + level
		if strings.HasPrefix(lower+level, prefix) && (!ok || len(candidate) > len(name)) {
			name, ok = candidate, true
		}
	}
	if !ok {
		name, below, _ = strings.Cut(rest, level)
		return name, below, false
	}
	return name, rest[min(len(rest), len(name)+len(level)):], true
}

// matchKey is the key of the file that a variable spells without case, else the
// spelling in lower case. Names of environment variables keep theirs.
func matchKey(written string, file map[string]any, verbatim bool) string {
	if _, ok := file[written]; ok || verbatim {
		return written
	}
	for _, key := range slices.Sorted(maps.Keys(file)) {
		if strings.EqualFold(key, written) {
			return key
		}
	}
	return strings.ToLower(written)
}

// put sets a key unless another variable has set it, or one above or below it.
func (v variables) put(path []string, value, variable string) {
	key, from := strings.Join(path, "."), Position{Variable: variable}
	if !utf8.ValidString(value) {
		v.at(from, key, "is not valid UTF-8")
		return
	}
	for i := range path {
		if plain, ok := v.file.get(path[:i+1]...); ok && plain != nil && i < len(path)-1 && !isMapping(plain) {
			v.at(from, key, "lies below a key that has a value of its own in the file")
			return
		}
	}
	for _, set := range slices.Sorted(maps.Keys(v.layer.origins)) {
		if set == key || strings.HasPrefix(set, key+".") || strings.HasPrefix(key, set+".") {
			v.at(from, key, "is set by %s too; keep one of them", v.layer.origins[set])
			return
		}
	}
	v.set(path, value, from)
}

func isMapping(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}
