// Package enginetest is what the tests of stores on servers share: writers whose appends must all be acknowledged, a
// proxy that cuts their connections, histories that must be linearizable, and memories that are damaged and healed.
package enginetest
