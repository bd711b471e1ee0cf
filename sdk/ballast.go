package sdk

// ballastSize is about how much a driver allocates between two collections.
const ballastSize = 16 << 20

// ballast is memory that nobody touches, so that it takes up addresses and no
// room. A driver keeps little on its heap and allocates at every call: without
// ballast it would collect garbage hundreds of times a second. A driver that
// holds data is collected as ever.
var ballast []byte

func takeBallast() { ballast = make([]byte, ballastSize) }
