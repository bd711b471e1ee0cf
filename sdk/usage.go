package sdk

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// introduce tells whoever starts a driver by hand what it is. It returns the
// exit status: that of a usage error, unless this was asked for.
func introduce(w io.Writer, d Driver, args []string) (status int) {
	asked := ""
	if len(args) > 1 {
		asked = args[1]
	}
	switch asked {
	case "--version", "-version":
		fmt.Fprintln(w, d.Name, d.Version)
		return 0
	case "--help", "-help", "-h":
		describe(w, d, args[0])
		return 0
	}
	describe(w, d, args[0])
	return 2
}

func describe(w io.Writer, d Driver, program string) {
	fmt.Fprintf(w, "%s %s is a Cachewright driver. A host program starts it; by itself it does nothing.\n", d.Name, d.Version)
	fmt.Fprintf(w, "\nA host runs it when its configuration says\n\n")
	fmt.Fprintf(w, "  drivers:\n    %s: {run: command, command: [%s]}\n", d.Name, absolute(program))
	fmt.Fprintf(w, "  stores:\n    NAME: {driver: %s%s}\n", d.Name, requiredOptions(d.Schema))
	if len(d.Schema) == 0 {
		fmt.Fprintf(w, "\nIts stores have no options.\n")
		return
	}
	fmt.Fprintf(w, "\nOptions of a store:\n\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, o := range d.Schema {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", o.Name, o.Kind, o.presence(), o.explanation())
	}
	table.Flush()
}

func absolute(program string) string {
	if path, err := filepath.Abs(program); err == nil && strings.ContainsRune(program, filepath.Separator) {
		return path
	}
	return program
}

func requiredOptions(schema Schema) string {
	var b strings.Builder
	for _, o := range schema {
		if o.Required && !strings.Contains(o.Name, ".") {
			fmt.Fprintf(&b, ", %s: …", o.Name)
		}
	}
	return b.String()
}

// presence says what holds if the option is left out.
func (o Option) presence() string {
	switch {
	case o.Required:
		return "required"
	case o.Default == "" || o.Secret:
		return "optional"
	}
	return "default " + o.Default
}

func (o Option) explanation() string {
	parts := make([]string, 0, 3)
	if o.Doc != "" {
		parts = append(parts, o.Doc)
	}
	if len(o.Enum) > 0 {
		parts = append(parts, "one of "+strings.Join(o.Enum, ", "))
	}
	if o.Secret {
		parts = append(parts, "secret")
	}
	return strings.Join(parts, "; ")
}
