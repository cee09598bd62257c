package relist

import (
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// keepAbove is how many entries are folded for lines before these are kept: what is read at once is read again.
const keepAbove = 1000

// kept is where lines are kept for the next to look, each with the heads it was folded at. It is a hint: one that
// cannot be read or written, or is of other heads, changes nothing.
type kept struct {
	path   string // empty: nowhere
	read   bool
	folded int64 // entries that were, for lines not kept yet
}

// recall takes over what is kept, once. The caller holds mu.
func (r *Lister) recall() {
	if r.kept.read || r.kept.path == "" {
		return
	}
	r.kept.read = true
	var lines map[perdure.AgentID]derived
	if b, err := os.ReadFile(r.kept.path); err == nil && json.Unmarshal(b, &lines) == nil {
		for id, d := range lines {
			if d.Line.Agent == id {
				r.known[id] = d
			}
		}
	}
}

// keep keeps the lines of the agents that are behind, if that saves work.
func (r *Lister) keep(behind map[perdure.AgentID]perdure.Listing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept.path == "" || r.kept.folded < keepAbove {
		return
	}
	maps.DeleteFunc(r.known, func(id perdure.AgentID, _ derived) bool { _, is := behind[id]; return !is })
	if b, err := json.Marshal(r.known); err == nil && disk.MkdirAll(filepath.Dir(r.kept.path), 0o700) == nil {
		_ = disk.WriteWhole(r.kept.path, func(w io.Writer) error { // else whoever looks next folds them
			_, err := w.Write(b)
			return err
		})
	}
	r.kept.folded = 0
}
