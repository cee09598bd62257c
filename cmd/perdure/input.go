package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/internal/term"
)

// withInput calls use with a file, or with standard input for "-". Reading ends when the command is interrupted.
func withInput(c *cobra.Command, name string, use func(io.Reader) error) error {
	if name != "-" {
		f, err := disk.Open(name)
		if err != nil {
			return err
		}
		return errors.Join(use(f), f.Close())
	}
	r := term.Interruptible(c.Context(), c.InOrStdin())
	return errors.Join(use(r), r.Close())
}

// askerOf asks whoever runs a command. It is to be closed.
func askerOf(c *cobra.Command) *show.Asker {
	return show.NewAsker(c.InOrStdin(), c.ErrOrStderr(), here)
}

// lineOf asks a person for a line; an interrupt ends the wait.
func lineOf(c *cobra.Command, prompt string) (string, error) {
	q := askerOf(c)
	defer q.Close()
	return q.Line(c.Context(), prompt)
}

// readWhole reads an input that holds one value. It stops after the limit: what is longer is refused by whoever reads
// it.
func readWhole(c *cobra.Command, name string, lim perdure.Limits) ([]byte, error) {
	var b []byte
	err := withInput(c, name, func(r io.Reader) (err error) {
		if b, err = io.ReadAll(io.LimitReader(r, lim.Bytes+int64(len("\r\n"))+1)); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		return nil
	})
	return b, err
}

// writeOutput calls write with where output goes: standard output, or a file that takes its name only when write
// succeeds, and is on the disk then.
func writeOutput(c *cobra.Command, name string, write func(io.Writer) error) error {
	if name == "" {
		return write(term.Raw(c.OutOrStdout()))
	}
	return disk.WriteWhole(name, write)
}

// writeBytes is writeOutput of bytes that are there.
func writeBytes(c *cobra.Command, name string, b []byte) error {
	return writeOutput(c, name, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// notBinary refuses to write binary to a terminal.
func notBinary(c *cobra.Command, would bool) error {
	if would && term.IsTerminal(c.OutOrStdout()) {
		return perdure.Invalid(errors.New("this would write binary to a terminal; name a file, or use --force"))
	}
	return nil
}

// spool copies standard input to a file that is gone afterwards, for what is read more than once.
func spool(c *cobra.Command, most int64) (name string, remove func(), err error) {
	err = withInput(c, "-", func(r io.Reader) error {
		name, remove, err = disk.Spool(r, most)
		return err
	})
	return name, remove, err
}
