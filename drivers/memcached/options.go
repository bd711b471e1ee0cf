package memcached

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

const (
	defaultPort     = "11211"
	mostConnections = 1000
)

type options struct {
	Servers  []string `option:"servers" default:"127.0.0.1:11211" doc:"host:port of each server, or the path of its unix socket; the same spelling in every host, since keys are spread by it, in any order"`
	Username string   `option:"username" doc:"user, where the servers want one (memcached -Y)"`
	Password string   `option:"password,secret" doc:"password of the user, as it is, without blanks"`

	TLS struct {
		Enabled    bool   `option:"enabled" default:"false" doc:"speak TLS (memcached -Z, or a proxy before it)"`
		CA         string `option:"ca,path" doc:"PEM file of the authorities that may sign the servers' certificates; the system's where empty"`
		Cert       string `option:"cert,path" doc:"PEM file of the client's certificate"`
		Key        string `option:"key,path" doc:"PEM file of the client's key"`
		ServerName string `option:"server_name" doc:"name that the servers' certificates must bear; the host that is connected to where empty"`
		Insecure   bool   `option:"insecure" default:"false" doc:"take any certificate: anybody on the way can read and change everything"`
	} `option:"tls"`

	DialTimeout  time.Duration `option:"dial_timeout" default:"2s" doc:"limit of one attempt to connect, TLS and the server's introduction included"`
	StallTimeout time.Duration `option:"stall_timeout" default:"3s" doc:"how long a server may be silent while an answer is due before it counts as down"`
	Connections  int           `option:"connections" default:"8" doc:"the most connections to each server"`
	Dedicated    bool          `option:"dedicated" default:"false" doc:"nothing but this store is on the servers, so that it may be cleared: flush_all removes everything on all of them, locks and other prefixes too"`
}

// An address is where a server listens.
type address struct{ network, name string }

// A target is the options, understood.
type target struct {
	addresses []address
	settings  settings
}

// A complaint collects what is wrong with options.
type complaint []sdk.Problem

func (c *complaint) about(key, format string, args ...any) {
	*c = append(*c, sdk.Problem{Key: key, Reason: fmt.Sprintf(format, args...)})
}

// understand checks what the schema can't tell.
func (o options) understand() (target, error) {
	var wrong complaint
	t := target{addresses: o.places(&wrong), settings: settings{
		username:     o.Username,
		password:     o.Password,
		dialTimeout:  o.DialTimeout,
		stallTimeout: o.StallTimeout,
		connections:  o.Connections,
	}}
	o.credentials(&wrong)
	t.settings.tls = o.encryption(t.addresses, &wrong)
	if o.DialTimeout <= 0 {
		wrong.about("dial_timeout", "must be positive")
	}
	if o.StallTimeout <= 0 {
		wrong.about("stall_timeout", "must be positive")
	}
	if o.Connections < 1 || o.Connections > mostConnections {
		wrong.about("connections", "must be 1 to %d", mostConnections)
	}
	if len(wrong) > 0 {
		return target{}, &sdk.OptionsError{Problems: wrong}
	}
	return t, nil
}

// places reads the servers. A text with a slash at its start is a path.
func (o options) places(wrong *complaint) []address {
	if len(o.Servers) == 0 {
		wrong.about("servers", "must name at least one server")
	}
	var places []address
	for i, text := range o.Servers {
		at, ok := place(text)
		switch {
		case !ok:
			wrong.about("servers", "wants host:port, with brackets around an IPv6 address, or a path that starts with /; server %d is neither", i+1)
		case slices.Contains(places, at):
			wrong.about("servers", "names %s twice", at.name)
		default:
			places = append(places, at)
		}
	}
	return places
}

func place(text string) (address, bool) {
	if strings.ContainsFunc(text, isBlank) {
		return address{}, false
	}
	if strings.HasPrefix(text, "/") {
		return address{"unix", text}, true
	}
	if !strings.Contains(text, ":") {
		text = net.JoinHostPort(text, defaultPort)
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" || port == "" || strings.ContainsAny(text, "/@") {
		return address{}, false
	}
	return address{"tcp", net.JoinHostPort(strings.ToLower(host), port)}, true
}

func isBlank(r rune) bool { return r <= ' ' || r == 0x7f }

func (o options) credentials(wrong *complaint) {
	switch {
	case o.Username == "" && o.Password != "":
		wrong.about("password", "needs a username")
	case o.Username != "" && o.Password == "":
		wrong.about("username", "needs a password")
	}
	for key, text := range map[string]string{"username": o.Username, "password": o.Password} {
		if strings.ContainsFunc(text, isBlank) {
			wrong.about(key, "must not hold blanks or control characters: memcached can't read them")
		}
	}
}

func (o options) encryption(places []address, wrong *complaint) *tlsFiles {
	if !o.TLS.Enabled {
		if o.TLS.CA != "" || o.TLS.Cert != "" || o.TLS.Key != "" || o.TLS.ServerName != "" || o.TLS.Insecure {
			wrong.about("tls.enabled", "must be true, since other tls options are set")
		}
		return nil
	}
	if (o.TLS.Cert == "") != (o.TLS.Key == "") {
		wrong.about("tls.cert", "and tls.key go together")
	}
	if slices.ContainsFunc(places, func(at address) bool { return at.network == "unix" }) {
		wrong.about("tls.enabled", "must be false where a server is a unix socket")
	}
	return &tlsFiles{o.TLS.CA, o.TLS.Cert, o.TLS.Key, o.TLS.ServerName, o.TLS.Insecure}
}
