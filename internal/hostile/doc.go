// Package hostile attacks the program. Each test is one threat: a file made by somebody who wishes the owner ill, the
// door it comes in by, and a ledger that shows that nothing happened. The same deed by whoever has the right to it
// comes first, so that an empty ledger means something.
//
// docs/security.md says what is promised, and names the test that holds each promise. A test here compares the two.
package hostile
