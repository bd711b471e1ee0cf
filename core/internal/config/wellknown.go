package config

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Variables that applications know from elsewhere. Each sets an option of the
// store that bears its driver's name, if there is one. Since they are shared
// with other programs, an empty one counts as unset.
var wellKnown = []struct{ variable, store, option string }{
	{"CACHE_FILE_PATH", "file", "path"},
	{"REDIS_DB", "redis", "db"},
	{"REDIS_USERNAME", "redis", "username"},
	{"REDIS_PASSWORD", "redis", "password"},
	{"DB_CACHE_TABLE", "database", "table"},
	{"DB_CACHE_LOCK_TABLE", "database", "lock_table"},
}

// Addresses that come as _HOST and _PORT.
var wellKnownAddresses = []struct {
	variables, store, option, port string
	list                           bool
}{
	{"REDIS", "redis", "addr", "6379", false},
	{"MEMCACHED", "memcached", "servers", "11211", true},
}

// known is the layer of well-known variables. Below is what they lie over, set
// by what lies over them.
type known struct {
	*loader
	layer
	below, above layer
}

func (l *loader) wellKnown(ctx context.Context, below, above layer) layer {
	k := known{l, layer{map[string]any{}, origins{}}, below, above}
	k.text("CACHE_STORE", "default")
	k.text("CACHE_PREFIX", "prefix")
	for _, w := range wellKnown {
		if k.fits(w.store) {
			k.text(w.variable, "stores", w.store, w.option)
		}
	}
	for _, a := range wellKnownAddresses {
		path := []string{"stores", a.store, a.option}
		if _, set := above.get(path...); !set && k.fits(a.store) {
			k.address(ctx, a.variables, path, a.port, a.list)
		}
	}
	return k.layer
}

// fits tells whether there is a store of that name with the driver of that name.
// A url says it all, and then no variable adds to it.
func (k known) fits(store string) bool {
	driver, _ := k.lookup("stores", store, "driver")
	_, url := k.lookup("stores", store, "url")
	return driver == store && !url
}

func (k known) lookup(path ...string) (any, bool) {
	if v, ok := k.above.get(path...); ok {
		return v, true
	}
	return k.below.get(path...)
}

func (k known) text(variable string, path ...string) {
	value := k.env[variable]
	if value == "" {
		return
	}
	from := Position{Variable: variable}
	if !utf8.ValidString(value) {
		k.report.at(from, strings.Join(path, "."), "is not valid UTF-8")
		return
	}
	k.set(path, value, from)
}

// address puts a host, a port or both into the addresses of the file. A new
// host replaces them all.
func (k known) address(ctx context.Context, variables string, path []string, port string, list bool) {
	host, hostOK := k.host(variables+"_HOST", path)
	newPort, portOK := k.port(variables+"_PORT", path)
	if !hostOK || !portOK || host == "" && newPort == "" {
		return
	}
	from := Position{Variable: variables + "_HOST"}
	addresses := []string{"127.0.0.1:" + port}
	if host == "" || newPort == "" {
		if given := k.given(ctx, path); len(given) > 0 {
			addresses = given
		}
	}
	if host == "" {
		from.Variable = variables + "_PORT"
	} else {
		addresses = addresses[:1]
	}
	composed := make([]any, len(addresses))
	for i, address := range addresses {
		h, p, err := net.SplitHostPort(address)
		if err != nil {
			k.report.at(from, strings.Join(path, "."), "can't change what is no host:port; set the whole address instead")
			return
		}
		composed[i] = net.JoinHostPort(cmp.Or(host, h), cmp.Or(newPort, p))
	}
	if list {
		k.set(path, composed, from)
		return
	}
	k.set(path, composed[0], from)
}

// given are the addresses that the file has, expanded.
func (k known) given(ctx context.Context, path []string) []string {
	v, _ := k.below.get(path...)
	switch v := k.expand(ctx, k.below.origins, strings.Join(path, "."), v).(type) {
	case string:
		return strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' })
	case []any:
		var texts []string
		for _, item := range v {
			if text, ok := item.(string); ok {
				texts = append(texts, text)
			}
		}
		return texts
	}
	return nil
}

// host reads a name or an address of either family.
func (k known) host(variable string, path []string) (string, bool) {
	value := k.env[variable]
	host := strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
	if strings.ContainsAny(host, "/ \t\r\n") || !utf8.ValidString(host) {
		k.report.at(Position{Variable: variable}, strings.Join(path, "."), "wants a host name or an IP address")
		return "", false
	}
	if _, err := netip.ParseAddr(host); err != nil && strings.Contains(host, ":") {
		k.report.at(Position{Variable: variable}, strings.Join(path, "."), "wants a host without a port; the port goes into the variable beside it")
		return "", false
	}
	return host, true
}

// port reads a port. Kubernetes sets these variables itself, as tcp://…, for a
// service of that name: those mean nothing here.
func (k known) port(variable string, path []string) (string, bool) {
	value := k.env[variable]
	if value == "" || strings.HasPrefix(value, "tcp://") || strings.HasPrefix(value, "udp://") {
		return "", true
	}
	if n, err := strconv.ParseUint(value, 10, 16); err != nil || n == 0 {
		k.report.at(Position{Variable: variable}, strings.Join(path, "."), "wants a port, 1 to 65535")
		return "", false
	}
	return value, true
}
