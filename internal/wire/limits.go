package wire

import "time"

const (
	// MaxMessage bounds one message in either direction, in bytes.
	MaxMessage = 64 << 20
	// MaxBatch is where batches are cut, in bytes: a request is split there, and
	// an answer stops there so that the client asks again for the rest.
	MaxBatch = 32 << 20
	// MaxBatchKeys is where batches are cut by number.
	MaxBatchKeys = 10_000
	// MaxValue is the largest value that fits a message beside its key.
	MaxValue = MaxMessage - 64<<10
	// MaxFrame is the limit that both ends set for gRPC: MaxMessage, and room
	// for what a later version may add to one.
	MaxFrame = MaxMessage + 64<<10
	// MaxKey is the longest key with its prefix, in bytes.
	MaxKey = 1024
	// MaxSuffix is the most that a lock strategy may append to a key, in bytes.
	MaxSuffix = 64
	// MaxErrorText is the longest message of an error, in bytes.
	MaxErrorText = 4 << 10

	// DescribeTimeout bounds the first call to a new process.
	DescribeTimeout = 2 * time.Second
	// NonceTimeout bounds a driver's wait for the first line of its stdin.
	NonceTimeout = 2 * time.Second
	// DefaultDeadline bounds a call that reaches a driver without a deadline.
	DefaultDeadline = time.Minute
	// StopTimeout bounds how long a driver that was told to stop waits for
	// running calls and for its stores to close.
	StopTimeout = 2 * time.Second
)
