package config

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// builtins are the drivers of this product. Which of them are linked into a
// program is another matter: one that isn't fails when it is first used.
var builtins = []string{"database", "file", "memcached", "memory", "redis"}

var (
	digestPattern   = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)
	platformPattern = regexp.MustCompile(`^[a-z0-9]+/[a-z0-9]+$`)
)

func (l *loader) drivers(root section) map[string]Driver {
	drivers := make(map[string]Driver)
	if root.values["drivers"] == nil {
		return drivers
	}
	declared, ok := root.section("drivers")
	if !ok {
		return drivers
	}
	for _, name := range declared.names() {
		if !namePattern.MatchString(name) {
			declared.about(join(declared.path, name), "is no name for a driver: a lower-case letter, then letters, digits and underscores")
			continue
		}
		drivers[name] = l.driver(declared, name)
	}
	return drivers
}

func (l *loader) driver(declared section, name string) Driver {
	path := join(declared.path, name)
	d := Driver{Name: name, Run: RunBuiltin, Pos: l.origins.of(path)}
	if declared.values[name] == nil { // a bare name is the built-in
		l.checkBuiltin(path, name)
		return d
	}
	s, ok := declared.section(name)
	if !ok {
		return d
	}
	s.only("run", "command", "sha256", "env", "start_timeout", "transport")
	d.Run = Run(s.choice("run", string(RunBuiltin), []string{string(RunBuiltin), string(RunCommand)}))
	if timeout := s.duration("start_timeout", false); timeout != nil {
		d.StartTimeout = *timeout
	}
	if s.choice("transport", "auto", []string{"auto", "grpc"}) == "grpc" {
		d.Transport = TransportGRPC
	}
	d.Env = s.environment()
	switch run, given := s.values["run"]; {
	case d.Run == RunCommand:
		d.Command = l.command(s)
		d.Spelled = l.spelled(join(path, "command"), d.Command)
		d.SHA256 = l.digest(s)
	case !given || run == string(RunBuiltin):
		s.refuse("goes with run: command only", "command", "sha256")
		l.checkBuiltin(path, name)
	}
	return d
}

func (l *loader) checkBuiltin(path, name string) {
	if !l.isBuiltin(name) {
		l.about(path, "there is no built-in driver of that name%s; a driver of your own wants run: command", didYouMean(name, builtins))
	}
}

func (l *loader) isBuiltin(name string) bool {
	_, linked := l.schema(Driver{Name: name, Run: RunBuiltin})
	return linked || slices.Contains(builtins, name)
}

// command is the program and its arguments. A program that is a path starts at
// the file's folder.
func (l *loader) command(s section) []string {
	command, ok := s.texts("command")
	at := join(s.path, "command")
	switch {
	case !ok:
		s.about(at, "is required with run: command")
		return nil
	case len(command) == 0 || command[0] == "":
		s.about(at, "wants a program, such as [./acme-driver]")
		return nil
	case slices.ContainsFunc(command, func(arg string) bool { return strings.Contains(arg, "\x00") }):
		s.about(at, "holds a NUL, which no argument can")
		return nil
	}
	if inHome(command[0]) {
		s.about(at, "%s", tilde)
		return nil
	}
	if strings.ContainsRune(command[0], filepath.Separator) {
		command[0] = l.folders.absolute(command[0], l.origins.of(at))
	}
	return command
}

// spelled is a command without what came from variables and other files, which
// may be secrets: references stand for it, or the variable that is all of it.
func (l *loader) spelled(at string, command []string) []string {
	if p := l.origins.of(at); p.Variable != "" {
		return []string{p.String()}
	}
	spelled := slices.Clone(command)
	for i := range spelled {
		if text, ok := l.spellings[at+"["+strconv.Itoa(i)+"]"]; ok {
			spelled[i] = text
		}
	}
	return spelled
}

// digest is the pin for this platform. A pin that leaves this platform out
// would look like one and check nothing, so it is refused.
func (l *loader) digest(s section) string {
	if _, given := s.values["sha256"]; !given {
		return ""
	}
	digests, ok := s.section("sha256")
	if !ok {
		return ""
	}
	for _, platform := range digests.names() {
		text, ok := digests.text(platform)
		switch {
		case !platformPattern.MatchString(platform):
			digests.about(join(digests.path, platform), "is no platform, such as linux/amd64")
		case ok && !digestPattern.MatchString(text):
			digests.about(join(digests.path, platform), "wants the 64 hexadecimal digits of a SHA-256")
		}
	}
	if _, ok := digests.values[l.opts.Platform]; !ok {
		digests.about(digests.path, "has no digest for %s, this platform", l.opts.Platform)
	}
	digest, _ := digests.values[l.opts.Platform].(string)
	return strings.ToLower(digest)
}

// environment are the variables to add to the driver's. Those by which host and
// driver talk are not for configuration.
func (s section) environment() map[string]string {
	if _, given := s.values["env"]; !given {
		return nil
	}
	variables, ok := s.section("env")
	if !ok {
		return nil
	}
	env := make(map[string]string, len(variables.values))
	for name := range maps.Keys(variables.values) {
		value, ok := variables.text(name)
		at := join(variables.path, name)
		switch {
		case !variableName.MatchString(name):
			variables.about(at, "is no name for a variable")
		case strings.HasPrefix(name, ours) || strings.HasPrefix(name, "PLUGIN_"):
			variables.about(at, "is reserved for the host, which starts the driver")
		case ok && strings.Contains(value, "\x00"):
			variables.about(at, "holds a NUL, which no variable can")
		}
		env[name] = value
	}
	return env
}
