// Command acme is a driver that somebody else wrote: a module of its own that
// imports package sdk and nothing else of Cachewright. A host's configuration
// names it:
//
//	drivers:
//	  acme: {run: command, command: [./acme]}
//	stores:
//	  notes: {driver: acme, room: 100}
package main

import "github.com/cachewright/cachewright/sdk"

func main() { sdk.Serve(Driver) }
