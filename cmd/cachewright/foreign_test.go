package main

import "testing"

// The codec is the application's own, and this program does not have it.
func TestAStoreOfAForeignCodecGivesBytes(t *testing.T) {
	t.Parallel()
	s := newShell(t, "default: main\nstores:\n  main: {driver: file, path: ./main, codec: series, compress: zstd}\n")
	s.play([]step{

		{args: "set k {} --raw"},
		{args: "set k {}", code: exitUsage, stderr: "this program has no codec series"},
		{args: "get k", code: exitUsage, stderr: "--raw prints bytes"},
		{args: "get k --raw", stdout: "{}"},
		{args: "keys", stdout: "k\n"},
		{args: "incr n", stdout: "1\n"},
		{args: "get n", stdout: "1\n"},
		{args: "delete k", stdout: "1\n"},
	})
}
