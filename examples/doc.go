// Package examples holds programs to read, run and copy, one in each folder. Its tests check that README.md names them
// all and that each uses nothing of this module that another module could not import.
package examples
