// Package sdk is what a driver of Cachewright is written with.
//
// A driver is a program that serves a kind of store: Redis, a directory of
// files, something of your own. A host, the application, starts the program as
// a child process and opens stores in it, as its configuration says; one
// process may hold many. Its users read, write, count and lock through the
// host's API and never learn which driver is behind it.
//
// Four methods make a Store: Get, Set, Delete and Close. Everything else is an
// optional interface of this package, whose comment says what users get without
// it: an Adder makes put-if-absent possible, a Counter counters, a Batcher
// fewer round trips, a Leaser locks that reach other processes. The sdk finds
// what a store implements when it opens and announces that to the host; a store
// that turns out to have less says so in its Traits.
//
// Define ties an options struct and an open function to a name, and Serve is
// the whole main:
//
//	type options struct {
//		Path string    `option:"path,required,path" doc:"where entries live"`
//		Max  sdk.Bytes `option:"max_bytes" default:"64MiB" doc:"what entries may take"`
//	}
//
//	func open(ctx context.Context, o options) (*store, error) { … }
//
//	func main() { sdk.Serve(sdk.Define("acme", "1.0.0", open)) }
//
// The tags are checked against the host's configuration before a store opens,
// and an author needs no other validation of form: see Option. The example of
// Serve is a complete driver.
//
// # What an author may rely on
//
// Keys and TTLs are valid when they arrive. Every call has a deadline. No call
// arrives after Close, and Close is called when the last one has returned. A
// panic in a store fails that call with ErrInternal; a panic in a goroutine
// that the store started ends the process, and the host starts another one.
//
// Errors are matched with errors.Is on the other side too: wrap a sentinel of
// this package where one fits. What a driver writes to stderr, and to stdout,
// goes to the host's log; log/slog on stderr needs no setting up. No error and
// no log line may hold a secret or a value.
//
// # What a driver must not do
//
// Read stdin, which belongs to the host. Call os.Exit. Start programs that
// outlive it.
//
// Package drivertest proves a driver against the contract of this package.
// Drivers in other languages speak the protocol in docs/protocol.md.
package sdk
