package database

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

func TestErrorsHoldNoSecretAndNoValue(t *testing.T) {
	t.Parallel()
	const password, value = `pa:ss@wo/rd?#%"' \`, "the-value-nobody-may-see"
	server := servertest.StartPostgres(t, servertest.PostgresOptions{
		Access: []string{"local all all trust", "host all all 127.0.0.1/32 scram-sha-256"},
	})
	admin := beside(t, server.SocketURL(""))
	execute(t, admin, `CREATE ROLE app LOGIN PASSWORD '`+strings.ReplaceAll(password, `'`, `''`)+`'; GRANT CREATE ON SCHEMA public TO app`)
	dsn := func(password string) string {
		u, err := url.Parse(server.URL(""))
		must(t, err)
		u.User = url.UserPassword("app", password)
		return u.String()
	}
	right := opened(t, settled(dsn(password)))
	right.mustSet(t, "k", value, 0)
	option := twin(t, right, dsn("not this one"), func(o *options) { o.Password = password })
	option.holds(t, "k", value)

	check := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: no error", what)
			return
		}
		for _, secret := range []string{password, url.QueryEscape(password), url.PathEscape(password), value, "nobody"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error holds %q: %v", what, secret, err)
			}
		}
	}
	wrong := opened(t, settled(dsn(password+"x")))
	_, _, err := wrong.Get(bounded(t), "k")
	check("a wrong password", err)
	if !errors.Is(err, sdk.ErrUnavailable) || !strings.Contains(err.Error(), "28P01") {
		t.Errorf("a wrong password: %v", err)
	}
	_, err = right.Increment(bounded(t), "k", 1, 0)
	check("a value that is no integer", err)
	execute(t, admin, `ALTER TABLE cache ADD CHECK (length(value) < 10) NOT VALID`)
	check("a value that breaks a constraint", right.Set(bounded(t), "k", []byte(value), 0))
	check("a batch that breaks a constraint", right.SetMany(bounded(t), []sdk.Entry{{Key: "k", Value: []byte(value)}, {Key: "l", Value: []byte(value)}}))
	execute(t, admin, `DROP TABLE cache`)
	check("a missing table", right.Set(bounded(t), "k", []byte(value), 0))
	server.Stop(t)
	check("a stopped server", right.Set(bounded(t), "k", []byte(value), 0))
	stats, _ := right.Stats(bounded(t))
	for _, stat := range stats {
		if strings.Contains(stat.Value+stat.Warning, password) {
			t.Errorf("%s holds the password", stat.Name)
		}
	}
}
