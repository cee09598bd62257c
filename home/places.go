package home

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// placesFile notes the places that the stores of this home have had: a line for each, its id and the store.
const placesFile = "places"

// maxPlaces bounds that file, in bytes.
const maxPlaces = 1 << 20

// formerly adds to a place of this home's store those that the store had before. A store keeps what tells it from its
// copies in a file of its own: where that was lost or damaged, it has another place, and must not take for a seat that
// was handed over to it what it has handed over itself.
func (h *Home) formerly(at perdure.Place) perdure.Place {
	if h.Dir == "" || h.remote != "" {
		return at
	}
	own, err := filepath.Abs(h.File) // also of a file that is run: it is part of this store
	if err != nil {
		own = h.File
	}
	path := filepath.Join(h.Dir, placesFile)
	b, _ := disk.ReadFile(path, maxPlaces) // without it, the store knows what it knows itself
	noted := false
	for line := range strings.Lines(string(b)) {
		id, store, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		b, err := hex.DecodeString(id)
		var was perdure.Hash
		if copy(was[:], b); err != nil || len(b) != len(was) || store != own && !h.isStore(store) {
			continue // cut off while it was written, or of another store
		}
		noted = noted || was == at.ID
		if was != at.ID && !slices.Contains(at.CopyOf, was) {
			at.CopyOf = append(at.CopyOf, was)
		}
	}
	if !noted && !h.Looks && !at.IsZero() && len(b) < maxPlaces/2 {
		_ = appendLine(path, fmt.Sprintf("%s %s\n", at.ID, own))
	}
	return at
}

// appendLine adds a line to a file, durably.
func appendLine(path, line string) error {
	f, err := disk.OpenPlain(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(line))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
