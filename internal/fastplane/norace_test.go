//go:build !race

package fastplane

const manyCallers = 10_000
