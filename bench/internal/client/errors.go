package client

import "errors"

// errMissing fails a contest about entries that are there.
var errMissing = errors.New("the entry is missing")
