package sdk

// ballastSize is about how much a driver allocates between two collections.
const ballastSize = 16 << 20

// newBallast makes memory that nobody touches, so that it takes up addresses and
// no room. A driver keeps little on its heap and allocates at every call: without
// ballast it would collect garbage hundreds of times a second. A driver that
// holds data is collected as ever.
func newBallast() []byte { return make([]byte, ballastSize) }
