package main

import (
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
)

func initCommand() *cobra.Command {
	c := command("init", cobra.MaximumNArgs(1))
	h, out := storeFlag(c).acting().founding(), outputFlags(c)
	var set home.Setup
	c.Flags().StringVar(&set.Advisor, "advisor", "",
		"who proposes what agents do: anthropic:MODEL, gemini:MODEL or openai:MODEL, each with [@URL[#KEY]], "+
			"script:FILE or a URL")
	c.Flags().StringVar(&set.Files, "files", "",
		"give agents the tools files.* in this folder, which is made if it is not there")
	c.Flags().StringVar(&set.Name, "name", "", "name the key that is made (default: your user name)")
	c.Flags().BoolVar(&set.Memory, "memory", false,
		"set up memory across sessions, and print what to give to MCP clients")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 && h.URL != "" {
			return perdure.Invalid(errors.New("DIR and --store both say where the home is; use one of them"))
		}
		if err := h.Begin(strings.Join(args, "")); err != nil {
			return err
		}
		if err := h.Locate(); err != nil {
			return err
		}
		b, err := h.Init(c.Context(), set)
		if err != nil {
			return err
		}
		err = out.print(b, func(w io.Writer) error { return writeBegun(w, h, b, set.Memory) })
		for flag, is := range map[string]bool{"advisor": set.Advisor != "", "files": set.Files != ""} {
			if is && b.Because == "" {
				note(c, "%s was there and stays as it is: write what you gave with --%s into it",
					filepath.Join(b.Home, home.NodeFileName), flag)
			}
		}
		return err
	}
	return c
}

// writeBegun says what was made and what to do next; with memory also how MCP clients get that.
func writeBegun(w io.Writer, h *homeFlag, b *home.Begun, memory bool) error {
	if err := show.Begun(w, b); err != nil {
		return err
	}
	if h.URL != "" {
		inForce.store = home.Shown(h.URL)
	}
	line := ""
	if memory {
		var err error
		if line, err = clientConfig(h, "claude", true, "", ""); err != nil {
			return err
		}
	}
	return show.Next(w, b, line, here)
}
