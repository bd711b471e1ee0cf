//go:build !linux

package host

// onNoexec reports whether path lies on a file system from which nothing may be
// executed, where that can be told.
func onNoexec(string) bool { return false }
