// Package telemetry gives a manager OpenTelemetry metrics and traces. It is a
// hook like any other: core knows nothing of it, and a manager without one pays
// nothing, not even for a look at the clock.
//
//	tel, err := telemetry.New() // the global providers, or those of options
//	...
//	caches, err := core.Open(ctx, "config.yaml", core.WithHook(tel))
//	...
//	stop, err := tel.Observe(caches) // driver restarts; counters that begin at 0
//
// Labels are the configuration's store and driver names, operations, and error
// classes, all of them few. No key and no value is ever in a metric or a trace.
// docs/telemetry.md lists what there is.
package telemetry
