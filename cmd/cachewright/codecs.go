package main

import (
	"fmt"
	"strings"

	cache "github.com/cachewright/cachewright/core"
	"github.com/spf13/cobra"
)

// ownCodecs are those that this program has.
var ownCodecs = []string{"json", "msgpack", "raw"}

// foreignCodecs notes the stores whose codec this program does not have: it is
// the application's own, or a slip of the pen.
func foreignCodecs(stores []cache.StoreInfo) []string {
	notes := []string{}
	for _, s := range stores {
		if near, own := nearestCodec(s.Codec); !own {
			meant := ""
			if near != "" {
				meant = fmt.Sprintf("; did you mean %s?", near)
			}
			notes = append(notes, fmt.Sprintf("stores.%s.codec: this program has %s and no %s, which only an application that brings it can open%s",
				s.Name, strings.Join(ownCodecs, ", "), s.Codec, meant))
		}
	}
	return notes
}

// nearestCodec finds the codec that a typo was meant to be, "" for none.
func nearestCodec(name string) (near string, own bool) {
	codecs := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, codec := range ownCodecs {
		if codec == name {
			return codec, true
		}
		codecs.AddCommand(&cobra.Command{Use: codec, Run: func(*cobra.Command, []string) {}})
	}
	if found := codecs.SuggestionsFor(name); len(found) > 0 {
		return found[0], false
	}
	return "", false
}
