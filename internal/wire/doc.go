// Package wire holds what both ends of the driver protocol agree on: the
// sentinel errors and their codes, the handshake, the limits. It imports
// nothing else of this module.
package wire
