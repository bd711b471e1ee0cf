//go:build unix && !linux

package host

const killedWithParent = false
