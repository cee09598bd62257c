//go:build !unix

package server

func tighten() func() { return func() {} }
