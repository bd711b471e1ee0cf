// Package drivertest is the conformance suite of drivers: one list of rules,
// run against a store in this process, through the wire, and in a driver
// process of its own. A driver's test is one call:
//
//	func TestAcme(t *testing.T) {
//		drivertest.Run(t, acme.Driver, func(t testing.TB) map[string]any {
//			return map[string]any{"path": t.TempDir()}
//		})
//	}
//
// Rules that need a capability bind the stores that announce it; a store that
// does not announce it must refuse the operation instead.
package drivertest
