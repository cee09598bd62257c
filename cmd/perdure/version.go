package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// version is set by the build: -ldflags '-X main.version=v1.2.3'.
var version = "devel"

func versionCommand() *cobra.Command {
	c := command("version", cobra.NoArgs)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return say(c, struct {
			Version string `json:"version"`
			Format  int    `json:"format"`
			Unicode string `json:"unicode"`
			Go      string `json:"go"`
			OS      string `json:"os"`
			Arch    string `json:"arch"`
		}{version, perdure.FormatVersion, canon.UnicodeVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH},
			"%s\n", versionText())
	}
	return c
}

// versionText is the version in one line.
func versionText() string {
	return fmt.Sprintf("perdure %s, format %d, Unicode %s, %s %s/%s",
		version, perdure.FormatVersion, canon.UnicodeVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
