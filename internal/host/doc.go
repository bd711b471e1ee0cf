// Package host runs driver processes: it launches, supervises and stops them,
// and holds the client end of the wire.
package host
