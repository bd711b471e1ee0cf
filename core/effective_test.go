package core_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/core/internal/config"
	"github.com/cachewright/cachewright/internal/inproc"
	"github.com/cachewright/cachewright/sdk"
)

type vaultOptions struct {
	Addr  string   `option:"addr" default:"localhost:1" doc:"where"`
	Token string   `option:"token,secret" doc:"what nobody may see"`
	User  string   `option:"user" doc:"who"`
	Hosts []string `option:"hosts" doc:"which"`
	CA    string   `option:"ca,path" doc:"a file"`
}

func TestSettingsSayWhereEachValueComesFromAndHideSecrets(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("user", "from-a-file\n")
	path := write("config.yaml", `default: main
prefix: app
drivers:
  acme: {run: command, command: [/no/such/program, -v], env: {TOKEN: hunter2}}
stores:
  main:
    driver: vault
    token: hunter2
    user: ${file:user}
    hosts: [one, two]
    default_ttl: 1h
    ttl_jitter: 10%
    on_error: miss
    ca: ca.pem
  other: {driver: acme, password: hunter2, lock: {strategy: local, timeout: 3s}}
`)
	t.Setenv("CACHEWRIGHT_STORES__MAIN__TIMEOUT", "3s")
	vault := sdk.Define("vault", "1", func(context.Context, vaultOptions) (*fakeStore, error) { return &fakeStore{fake: newFake()}, nil })
	m, err := cache.Open(inproc.With(t.Context(), map[string]sdk.Driver{"vault": vault}), path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(t.Context())
	settings, err := m.Settings(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range settings {
		value := s.Value
		if s.Hidden {
			value = "(hidden)" + value
		}
		lines = append(lines, strings.ReplaceAll(s.Key+" = "+value+" from "+s.From, folder+"/", ""))
	}
	got, want := strings.Join(lines, "\n"), `default = main from config.yaml:1
prefix = app from config.yaml:2
drivers.acme.run = command from config.yaml:4
drivers.acme.command = /no/such/program -v from config.yaml:4
drivers.acme.env.TOKEN = (hidden) from config.yaml:4
stores.main.driver = vault from config.yaml:7
stores.main.prefix = app from config.yaml:2
stores.main.codec = json from default
stores.main.timeout = 3s from $CACHEWRIGHT_STORES__MAIN__TIMEOUT
stores.main.default_ttl = 1h0m0s from config.yaml:11
stores.main.ttl_jitter = 0.1 from config.yaml:12
stores.main.on_error = miss from config.yaml:13
stores.main.lock.strategy = the driver's from default
stores.main.addr = localhost:1 from default
stores.main.token = (hidden) from config.yaml:8
stores.main.user = (hidden) from config.yaml:9
stores.main.hosts = [one, two] from config.yaml:10
stores.main.ca = ca.pem from config.yaml:14
stores.other.driver = acme from config.yaml:15
stores.other.prefix = app from config.yaml:2
stores.other.codec = json from default
stores.other.timeout = 5s from default
stores.other.on_error = fail from default
stores.other.lock.strategy = local from config.yaml:15
stores.other.lock.timeout = 3s from config.yaml:15
stores.other.password = (hidden) from config.yaml:15`
	if got != want {
		t.Errorf("settings:\n%s\nwant:\n%s", got, want)
	}
	if _, err := m.Settings(t.Context(), true); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("asking a driver that can't start: %v", err)
	}
	if err := m.CheckOptions(t.Context()); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("CheckOptions with a driver that can't start: %v", err)
	}
}

// An argument may be a secret that came from outside the file: neither Settings
// nor the error of a driver that doesn't start shows what a reference stands for.
func TestACommandShowsItsReferences(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "config.yaml")
	for name, text := range map[string]string{"token": "hunter2\n", "config.yaml": `default: main
drivers:
  acme: {run: command, command: [./no-such-program, -v, "--token=${ACME_TOKEN}", "${ACME_ZONE:-east}", "a$$b"]}
  filed: {run: command, command: [./no-such-program, "${file:token}"]}
  whole: {run: command, command: [./no-such-program]}
stores:
  main: {driver: acme}
  filed: {driver: filed}
  whole: {driver: whole}
`} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("ACME_TOKEN", "hunter2")
	t.Setenv("CACHEWRIGHT_DRIVERS__WHOLE__COMMAND", "/no/such/program, hunter2")
	m, err := cache.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(context.WithoutCancel(t.Context()))
	settings, err := m.Settings(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]cache.Setting{}
	for _, s := range settings {
		shown[s.Key] = s
	}
	if s := shown["drivers.acme.command"]; s.Hidden || s.Value != folder+"/no-such-program -v --token=${ACME_TOKEN} ${ACME_ZONE:-east} a$b" {
		t.Errorf("references: %+v", s)
	}
	if s := shown["drivers.filed.command"]; !s.Secret || s.Value != "" {
		t.Errorf("a file: %+v", s)
	}
	if s := shown["drivers.whole.command"]; !s.Hidden || s.Value != "" || s.From != "$CACHEWRIGHT_DRIVERS__WHOLE__COMMAND" {
		t.Errorf("a variable: %+v", s)
	}
	err = m.CheckOptions(t.Context())
	for _, want := range []string{`"--token=${ACME_TOKEN}" "${ACME_ZONE:-east}" "a$b"`, `"${file:token}"`, `"$CACHEWRIGHT_DRIVERS__WHOLE__COMMAND"`} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("CheckOptions, want %s: %v", want, err)
		}
	}
}

// What only a driver can refuse is found without a call: a store is opened, and
// says it under the key that it is about.
func TestCheckOptionsOpensTheStores(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "config.yaml")
	if err := os.WriteFile(path, []byte(`default: good
drivers:
  acme: {run: command, command: [./no-such-program]}
stores:
  good: {driver: picky, size: 1KiB}
  bad: {driver: picky, size: 2KiB}
  one: {driver: acme}
  locked: {driver: picky, size: 1KiB, lock: {strategy: exclusive}}
  two: {driver: acme}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFake()
	picky := sdk.Define("picky", "1", func(_ context.Context, o fakeOptions) (*fakeStore, error) {
		if o.Size > 1024 {
			return nil, &sdk.OptionsError{Problems: []sdk.Problem{{Key: "size", Reason: "is more than there is"}}}
		}
		return &fakeStore{fake: f}, nil
	})
	m, err := cache.Open(inproc.With(t.Context(), map[string]sdk.Driver{"picky": picky}), path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(context.WithoutCancel(t.Context()))
	err = m.CheckOptions(t.Context())
	text := strings.ReplaceAll(fmt.Sprint(err), folder+"/", "")
	for _, want := range []string{
		"config.yaml:6: stores.bad.size: is more than there is",
		"config.yaml:3: drivers.acme.command: ",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("CheckOptions doesn't say %q once:\n%s", want, text)
		}
	}
	if strings.Contains(text, "stores.good") || !errors.Is(err, cache.ErrInvalidConfig) {
		t.Errorf("CheckOptions: %v", err)
	}
	if calls := f.seen(); len(calls) > 0 {
		t.Errorf("the check made calls: %q", calls)
	}
}

func TestSettingsKnowEveryKeyOfAStore(t *testing.T) {
	var fields []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config.Store]()) {
		fields = append(fields, f.Name)
	}
	const known = "Name Driver Prefix Codec Timeout Lock Options Pos Compress Encrypt DefaultTTL TTLJitter MissOnError"
	if got := strings.Join(fields, " "); got != known {
		t.Errorf("a store of the configuration has %s; Settings shows %s: add what is new there, to the schema of the command line, and here", got, known)
	}
}
