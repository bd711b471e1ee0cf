package redis

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"github.com/redis/go-redis/v9"
)

const (
	defaultAddr = "127.0.0.1:6379"
	mostLanes   = 1000
)

type options struct {
	URL      *string `option:"url,secret" doc:"the server as redis://user:password@host:port/db, rediss:// for TLS, or unix://user:password@/path?db=0, instead of addr, username, password and db; special characters are percent-encoded"`
	Addr     *string `option:"addr" doc:"host:port, or the path of a unix socket; 127.0.0.1:6379 where nothing says where the server is"`
	Username string  `option:"username" doc:"ACL user; default where only a password is given"`
	Password string  `option:"password,secret" doc:"password of the user, any characters, as it is"`
	DB       int     `option:"db" default:"0" doc:"number of the database; a Cluster has only 0"`

	Sentinel struct {
		Master   string   `option:"master" doc:"name under which Sentinel watches the master"`
		Addrs    []string `option:"addrs" doc:"host:port of the Sentinels; the others are found through them"`
		Username string   `option:"username" doc:"ACL user of the Sentinels, if they have one"`
		Password string   `option:"password,secret" doc:"password of the Sentinels, if they have one"`
	} `option:"sentinel"`

	Cluster struct {
		Addrs []string `option:"addrs" doc:"host:port of some nodes of a Redis Cluster; the others are found through them"`
	} `option:"cluster"`

	TLS struct {
		Enabled    bool   `option:"enabled" default:"false" doc:"speak TLS, to Sentinels too; a rediss:// URL does as well"`
		CA         string `option:"ca,path" doc:"PEM file of the authorities that may sign the server's certificate; the system's where empty"`
		Cert       string `option:"cert,path" doc:"PEM file of the client's certificate"`
		Key        string `option:"key,path" doc:"PEM file of the client's key"`
		ServerName string `option:"server_name" doc:"name that the server's certificate must bear; the host that is connected to where empty"`
		Insecure   bool   `option:"insecure" default:"false" doc:"take any certificate: anybody on the way can read and change everything"`
	} `option:"tls"`

	DialTimeout  time.Duration `option:"dial_timeout" default:"2s" doc:"limit of one attempt to connect, TLS included"`
	StallTimeout time.Duration `option:"stall_timeout" default:"3s" doc:"how long a server may be silent while an answer is due before its connection is given up"`
	Pipelines    int           `option:"pipelines" default:"2" doc:"connections to each server that carry pipelines of concurrent calls"`
	PoolSize     int           `option:"pool_size" default:"8" doc:"further connections to each server, for large values, batches, Keys and Clear"`
	ClientName   string        `option:"client_name" default:"cachewright" doc:"name of the connections in CLIENT LIST"`
	Dedicated    bool          `option:"dedicated" default:"false" doc:"nothing but this store is in the database, so that a store without a prefix may be cleared: everything in it is removed, locks apart"`
}

// target is the options, understood.
type target struct {
	network, addr      string // of a single server
	username, password string
	db                 int
	sentinels, nodes   []string
	tls                *tlsFiles // nil: none
	options            options
}

// A complaint collects what is wrong with options.
type complaint []sdk.Problem

func (c *complaint) about(key, format string, args ...any) {
	*c = append(*c, sdk.Problem{Key: key, Reason: fmt.Sprintf(format, args...)})
}

// understand checks what the schema can't tell.
func (o options) understand() (target, error) {
	var wrong complaint
	t := target{network: "tcp", addr: defaultAddr, username: o.Username, password: o.Password, db: o.DB, options: o}
	o.place(&t, &wrong)
	o.encryption(&t, &wrong)
	switch {
	case t.db < 0:
		wrong.about("db", "must not be negative")
	case t.db > 0 && t.nodes != nil:
		wrong.about("db", "must be 0: a Cluster has no other database")
	}
	if o.Username != "" && o.Password == "" {
		wrong.about("username", "needs a password")
	}
	o.limits(&wrong)
	if strings.ContainsFunc(o.ClientName, func(r rune) bool { return r <= ' ' || r > '~' }) {
		wrong.about("client_name", "must be visible ASCII without blanks")
	}
	if len(wrong) > 0 {
		return target{}, &sdk.OptionsError{Problems: wrong}
	}
	return t, nil
}

func (o options) limits(wrong *complaint) {
	if o.DialTimeout <= 0 {
		wrong.about("dial_timeout", "must be positive")
	}
	if o.StallTimeout <= 0 {
		wrong.about("stall_timeout", "must be positive")
	}
	if o.Pipelines < 1 || o.Pipelines > mostLanes {
		wrong.about("pipelines", "must be 1 to %d", mostLanes)
	}
	if o.PoolSize < 1 || o.PoolSize > mostLanes {
		wrong.about("pool_size", "must be 1 to %d", mostLanes)
	}
}

// place finds out where the server is: exactly one way to say it may be used.
// One that is there and empty, as an unset variable leaves it, is no way: it
// must not become the server on this machine.
func (o options) place(t *target, wrong *complaint) {
	sentinel := o.Sentinel.Master != "" || o.Sentinel.Addrs != nil || o.Sentinel.Username != "" || o.Sentinel.Password != ""
	cluster := o.Cluster.Addrs != nil
	ways := 0
	for _, given := range []bool{o.URL != nil, o.Addr != nil, sentinel, cluster} {
		if given {
			ways++
		}
	}
	switch {
	case ways > 1:
		wrong.about("", "url, addr, sentinel and cluster exclude each other; say in one way where the server is")
	case o.URL != nil:
		o.placeByURL(t, wrong)
	case o.Addr != nil:
		t.network, t.addr = o.address("addr", *o.Addr, wrong)
	case sentinel:
		t.sentinels = o.addresses("sentinel.addrs", o.Sentinel.Addrs, "26379", wrong)
		if o.Sentinel.Master == "" {
			wrong.about("sentinel.master", "is required beside sentinel.addrs")
		}
		if o.Sentinel.Username != "" && o.Sentinel.Password == "" {
			wrong.about("sentinel.username", "needs a password")
		}
	case cluster:
		t.nodes = o.addresses("cluster.addrs", o.Cluster.Addrs, "6379", wrong)
	}
}

// address reads one address of a server. A path is that of a socket.
func (o options) address(key, text string, wrong *complaint) (network, addr string) {
	if strings.HasPrefix(text, "/") {
		return "unix", text
	}
	return "tcp", o.addresses(key, []string{text}, "6379", wrong)[0]
}

func (o options) addresses(key string, texts []string, port string, wrong *complaint) []string {
	if len(texts) == 0 {
		wrong.about(key, "is required")
	}
	addrs := make([]string, len(texts))
	for i, text := range texts {
		if !strings.Contains(text, ":") {
			text = net.JoinHostPort(text, port)
		}
		host, port, err := net.SplitHostPort(text)
		if err != nil || host == "" || port == "" || strings.ContainsAny(text, " /@") {
			wrong.about(key, "wants host:port, with brackets around an IPv6 address")
		}
		addrs[i] = text
	}
	return addrs
}

// placeByURL never quotes the URL or a part of it: where characters aren't
// encoded, any part may be one of the password.
func (o options) placeByURL(t *target, wrong *complaint) {
	if o.Username != "" || o.Password != "" || o.DB != 0 {
		wrong.about("url", "says it all; username, password and db must not stand beside it")
	}
	parsed, err := redis.ParseURL(*o.URL)
	if err != nil {
		wrong.about("url", "is not redis://user:password@host:port/db, rediss:// or unix://user:password@/path?db=0; "+
			"special characters in it must be percent-encoded (the options addr, username, password and db take them as they are)")
		return
	}
	if u, err := url.Parse(*o.URL); err != nil || !onlyDB(u.Query()) {
		wrong.about("url", "has parameters other than db; use the options of the store instead")
	}
	t.network, t.addr, t.db = parsed.Network, parsed.Addr, parsed.DB
	t.username, t.password = parsed.Username, parsed.Password
	if parsed.TLSConfig != nil {
		t.tls = &tlsFiles{}
	}
}

func onlyDB(query url.Values) bool {
	for name := range query {
		if name != "db" {
			return false
		}
	}
	return true
}

func (o options) encryption(t *target, wrong *complaint) {
	if o.TLS.Enabled || t.tls != nil {
		t.tls = &tlsFiles{o.TLS.CA, o.TLS.Cert, o.TLS.Key, o.TLS.ServerName, o.TLS.Insecure}
	}
	switch {
	case t.tls == nil && (o.TLS.CA != "" || o.TLS.Cert != "" || o.TLS.Key != "" || o.TLS.ServerName != "" || o.TLS.Insecure):
		wrong.about("tls.enabled", "must be true, since other tls options are set")
	case (o.TLS.Cert == "") != (o.TLS.Key == ""):
		wrong.about("tls.cert", "and tls.key go together")
	case t.tls != nil && t.network == "unix":
		wrong.about("tls.enabled", "must be false on a unix socket")
	}
}

func (t target) settings() settings {
	var secrets []string
	for _, secret := range []string{t.password, t.options.Sentinel.Password} {
		if secret != "" {
			secrets = append(secrets, secret)
		}
	}
	return settings{
		secrets:      secrets,
		username:     t.username,
		password:     t.password,
		db:           t.db,
		clientName:   t.options.ClientName,
		tls:          t.tls,
		dialTimeout:  t.options.DialTimeout,
		stallTimeout: t.options.StallTimeout,
		pipelines:    t.options.Pipelines,
		poolSize:     t.options.PoolSize,
	}
}
