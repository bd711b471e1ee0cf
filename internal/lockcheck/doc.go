// Package lockcheck finds out whether a lock is one. Processes with many
// goroutines contend for it, while some are killed or frozen inside of it and
// their drivers, servers and connections fail; what every holder saw is kept as
// a history on one clock, and the history is checked: nobody was inside while
// another was, fencing tokens rise from holder to holder, and a lock that was
// lost was announced in time.
//
// The clock is the machine's boot clock, so that all processes run on one
// machine.
package lockcheck
