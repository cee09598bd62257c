// Package examples holds programs to read and run, one in each folder. Its test sees to it that README.md names them all.
package examples
