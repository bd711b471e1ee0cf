//go:build unix && !linux

package sdk

// nameProcess needs Linux.
func nameProcess(string) {}

// shieldDescriptors needs Linux; elsewhere a driver passes on what it inherited
// without the close-on-exec flag.
func shieldDescriptors() {}
