package host

const killedWithParent = true
