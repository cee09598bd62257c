// Package archtest tests the shape of the repository rather than what it does: which package may import which, that
// every package says what it is for, and that every link in the documentation leads somewhere. It has no code of its
// own.
package archtest
