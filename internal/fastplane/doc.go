// Package fastplane carries the calls of the data path between a host and a
// driver process over one connected socket that the process inherited: frames
// with ids, many calls at once, and nothing of gRPC. docs/protocol.md specifies
// the format.
//
// The host's end is a Client, the driver's a Server. Both write through an
// outbox, which makes one write of what many calls want to send and never lets
// a caller wait in one, and read through an inbox. What a call means is not
// decided here: a Request and its Answer are those of the gRPC protocol in
// other clothes.
package fastplane
