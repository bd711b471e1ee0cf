package sdk

import "slices"

// A Capability is one operation that a store may lack. Capabilities are data:
// they are found once, inside the driver process, and announced when the store
// opens.
type Capability string

const (
	CanAdd           Capability = "add"
	CanReplace       Capability = "replace"
	CanPull          Capability = "pull"
	CanIncrement     Capability = "increment"
	CanCompareDelete Capability = "compare-delete"
	CanBatch         Capability = "batch" // batches cost few round trips; they work without
	CanClear         Capability = "clear"
	CanInspect       Capability = "inspect" // TTL and Touch
	CanList          Capability = "list"    // Keys
	CanLease         Capability = "lease"
	CanRenewLease    Capability = "renew-lease"
	CanWaitLease     Capability = "wait-lease"
	CanPing          Capability = "ping"
	CanReport        Capability = "report" // Stats
)

// Capabilities is a set, sorted.
type Capabilities []Capability

// Has reports whether c is in the set.
func (cs Capabilities) Has(c Capability) bool { return slices.Contains(cs, c) }

// discover finds what s implements, less what its traits withdraw.
func discover(s Store, withdrawn []Capability) Capabilities {
	var found Capabilities
	note := func(c Capability, implements bool) {
		if implements && !slices.Contains(withdrawn, c) {
			found = append(found, c)
		}
	}
	note(CanAdd, is[Adder](s))
	note(CanReplace, is[Replacer](s))
	note(CanPull, is[Puller](s))
	note(CanIncrement, is[Counter](s))
	note(CanCompareDelete, is[CompareDeleter](s))
	note(CanBatch, is[Batcher](s))
	note(CanClear, is[Clearer](s))
	note(CanInspect, is[Inspector](s))
	note(CanList, is[Lister](s))
	note(CanLease, is[Leaser](s))
	note(CanRenewLease, is[LeaseRenewer](s))
	note(CanWaitLease, is[LeaseWaiter](s))
	note(CanPing, is[Pinger](s))
	note(CanReport, is[StatsReporter](s))
	slices.Sort(found)
	return found
}

func is[T any](s Store) bool {
	_, ok := s.(T)
	return ok
}
