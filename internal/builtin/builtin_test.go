package builtin

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

type nothing struct{}

func (nothing) Get(context.Context, string) ([]byte, bool, error)        { return nil, false, nil }
func (nothing) Set(context.Context, string, []byte, time.Duration) error { return nil }
func (nothing) Delete(context.Context, string) (bool, error)             { return false, nil }
func (nothing) Close() error                                             { return nil }

func define(name string) sdk.Driver {
	return sdk.Define(name, "1", func(context.Context, struct{}) (nothing, error) { return nothing{}, nil })
}

func TestTheTableFindsWhatWasRegistered(t *testing.T) {
	Register(define("zebra"))
	Register(define("ant"))
	if names := Names(); !slices.Equal(names, []string{"ant", "zebra"}) {
		t.Errorf("names %q", names)
	}
	if d, ok := Lookup("ant"); !ok || d.Name != "ant" {
		t.Errorf("found %v, %q", ok, d.Name)
	}
	if _, ok := Lookup("bee"); ok {
		t.Error("found what isn't there")
	}
	defer func() {
		if recover() == nil {
			t.Error("a second driver of one name was taken")
		}
	}()
	Register(define("ant"))
}

func TestServeLeavesAnOrdinaryProcessAlone(t *testing.T) {
	Serve()
	t.Setenv("CACHEWRIGHT_BUILTIN", "ant")
	Serve() // no cookie
}
