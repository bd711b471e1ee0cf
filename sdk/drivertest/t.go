package drivertest

import (
	"context"

	"github.com/cachewright/cachewright/internal/host"
	"github.com/cachewright/cachewright/sdk"
)

// A Store is an opened store as hosts meet it, in this process or behind the
// wire: every operation is there, and what the store did not announce fails
// with errors.ErrUnsupported. Cases see stores as this and nothing else.
type Store = host.Store

// A Case is one rule of the contract between hosts and drivers, and the check
// that proves it. A case writes no keys but its own, so that it may run on data
// that others use, unless it is Alone.
type Case struct {
	// Name is group/rule, lower case: "ttl/never-early".
	Name string
	// Rule is the contract in words; a failure prints it.
	Rule string
	// Needs lists what a store must have announced for the rule to bind it.
	Needs []sdk.Capability
	// Except says why the rule does not bind a store of these traits, "" if it
	// does. A nil Except binds every store.
	Except func(sdk.Traits) string
	// Advice says what a store announces that the rule can't bind, "" for
	// nothing; a failure prints it.
	Advice string
	// Alone is set for a case that touches everything the store owns: nothing
	// else may use the data while it runs.
	Alone bool
	// Run checks the rule. The context ends when the case has taken too long.
	Run func(ctx context.Context, t T)
}

// Excuse says why the case does not bind a store, "" if it does. Whoever runs
// cases asks it first.
func (c Case) Excuse(s Store) string {
	for _, need := range c.Needs {
		if !s.Capabilities().Has(need) {
			return "the store does not announce " + string(need)
		}
	}
	if c.Except == nil {
		return ""
	}
	return c.Except(s.Traits())
}

// A T is what a case needs of whoever runs it: a reporter, and stores. Its
// methods other than Fatalf and Reopen may be called by several goroutines.
type T interface {
	// Errorf reports a failure; the case goes on.
	Errorf(format string, args ...any)
	// Fatalf reports a failure and ends the case: it does not return. Only the
	// goroutine that runs the case calls it.
	Fatalf(format string, args ...any)
	// Logf notes something worth knowing beside a failure.
	Logf(format string, args ...any)

	// Unique is a word of lower-case letters and digits that no other run of a
	// case shares. Every key of the case holds it.
	Unique() string
	// Store is the store under test.
	Store() Store
	// Another opens the data of Store once more, in a process of its own where
	// the mode has processes. The runner closes it after the case.
	Another(ctx context.Context) (Store, error)
	// Reopen closes Store, ends its process where it has one, and opens the same
	// data again. Store returns the new one from then on.
	Reopen(ctx context.Context) (Store, error)
}

// Cases returns the suite, in the order in which it is read.
func Cases() []Case {
	var all []Case
	for _, group := range [][]Case{
		valueCases, ttlCases, keyCases, listCases, atomicCases, takeCases, counterCases,
		batchCases, clearCases, leaseCases, leaseWaitCases, lifecycleCases, sharingCases, refusalCases,
	} {
		all = append(all, group...)
	}
	return all
}
