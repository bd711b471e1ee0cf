// Package host runs driver processes: it launches, supervises and stops them,
// and holds the client end of the wire.
//
// A Driver is one driver as configuration names it. Its supervisor launches an
// instance, a process with all that is made for it (process, folder, identity,
// go-plugin's client, conn), and publishes it as a session once it has answered
// Describe and opened the driver's stores. A RemoteStore makes its calls on the
// session that is published, and knows which of them may be sent again when the
// process dies under them.
//
// go-plugin is the frame: it speaks the handshake and dials. What it does not
// do, or not safely, is done here: running the process, its environment and
// streams, its log, TLS with quick keys, bounds for everything that may hang,
// and what happens when a process dies.
package host
