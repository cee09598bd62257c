package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
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
	r, w := io.Pipe()
	// A read of a terminal or a pipe cannot be called off: this goroutine ends with its input or with the process.
	go func() {
		_, err := io.Copy(w, c.InOrStdin())
		w.CloseWithError(err)
	}()
	stop := context.AfterFunc(c.Context(), func() { w.CloseWithError(c.Context().Err()) })
	defer stop()
	return errors.Join(use(r), r.Close())
}

// readWhole reads an input that holds one value. It stops after the limit: what is longer is refused by whoever reads it.
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
