// Package archtest holds the tests of the house rules that no compiler checks:
// which package imports which, how few modules core and sdk bring along, and
// whose types an application meets.
package archtest
