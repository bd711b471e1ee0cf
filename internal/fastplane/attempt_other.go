//go:build !unix

package fastplane

// write leaves everything to the courier.
func (a *attempt) write(int) {}
