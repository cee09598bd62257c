package home

import (
	"errors"
	"fmt"
	"os"
)

// probeBytes is how much room there is to be at least: a few pages of a database.
const probeBytes = 64 << 10

// Writable says why nothing can be written to the home, such as that its disk is full; nil: it can be.
func (h *Home) Writable() error {
	if h.Dir == "" {
		return nil // it is in memory
	}
	f, err := os.CreateTemp(h.Dir, ".probe-*")
	if err != nil {
		return fmt.Errorf("write to the home: %w", err)
	}
	_, err = f.Write(make([]byte, probeBytes))
	if err = errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
		return fmt.Errorf("write to the home: %w", err)
	}
	return nil
}
