//go:build race

package fastplane

const manyCallers = 2_000
