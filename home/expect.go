package home

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// expectExt is how the names of files end that say which agents are about to arrive in a store, see expect.
const expectExt = ".seat"

// expectFile is where that is said of an agent and a store.
func (h *Home) expectFile(at perdure.Place, id perdure.AgentID) string {
	return filepath.Join(h.Dir, spoolDir, at.ID.String()+"-"+id.String()+expectExt)
}

// expect notes the heads that an agent has in a store before entries of it arrive there. In a copy of a store, no node
// takes a seat that was handed over, unless the agent arrived afterwards: that must be known also if the process is
// killed when the entries are there, and the one that takes the seat is not.
func (h *Home) expect(ctx context.Context, s perdure.Store, id perdure.AgentID, held []perdure.Hash) error {
	at, err := h.PlaceOf(ctx, s)
	if err != nil || h.Dir == "" || !at.Found && len(at.CopyOf) == 0 {
		return err
	}
	if _, noted := h.expected(at, id); noted {
		return nil // an arrival before this one was cut off
	}
	name := h.expectFile(at, id)
	var text strings.Builder
	for _, one := range held {
		text.WriteString(one.String() + "\n")
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) { // it is not whole
		return err
	}
	err = disk.Write(name, []byte(text.String()+expectEnd), 0o600)
	if err == nil {
		err = disk.Sync(name)
	}
	if err == nil {
		err = disk.Sync(filepath.Dir(name))
	}
	return err
}

// expectEnd is the last line of such a file, which tells whether it is whole.
const expectEnd = "end\n"

// expected is the heads that an agent had before an arrival that was not finished; false: there was none.
func (h *Home) expected(at perdure.Place, id perdure.AgentID) (held []perdure.Hash, noted bool) {
	if h.Dir == "" {
		return nil, false
	}
	b, err := os.ReadFile(h.expectFile(at, id))
	text, whole := strings.CutSuffix(string(b), expectEnd)
	if err != nil || !whole {
		return nil, false
	}
	for line := range strings.Lines(text) {
		one, err := perdure.ParseHash(strings.TrimSpace(line))
		if err != nil {
			return nil, false
		}
		held = append(held, one)
	}
	return held, true
}

// unexpect notes that an arrival is finished.
func (h *Home) unexpect(at perdure.Place, id perdure.AgentID) {
	if h.Dir != "" {
		_ = os.Remove(h.expectFile(at, id)) // what stays says only what was so before
	}
}

// finishArrivals takes the seats of agents that have arrived whole, whose arrival was cut off before that.
func (h *Home) finishArrivals(ctx context.Context, n *perdure.Node) error {
	if h.Dir == "" {
		return nil
	}
	names, err := disk.Files(filepath.Join(h.Dir, spoolDir), expectExt)
	if err != nil || len(names) == 0 {
		return err
	}
	at, err := h.PlaceOf(ctx, n.Store)
	if err != nil {
		return err
	}
	var faults []error
	for _, name := range names {
		place, agent, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), expectExt), "-")
		var id perdure.AgentID
		if id.UnmarshalText([]byte(agent)) != nil || place != at.ID.String() {
			continue
		}
		held, noted := h.expected(at, id)
		a, err := n.Load(ctx, id)
		if err == nil && noted && a.Fold().HandedOver(at) {
			err = h.seatArrived(ctx, n, a, held)
		} else if info, gone := os.Stat(name); gone == nil && time.Since(info.ModTime()) > spoolFor {
			h.unexpect(at, id) // nothing came of it; before that it may be under way
			err = nil
		}
		if err != nil && !errors.Is(err, perdure.ErrNotFound) && !errors.Is(err, perdure.ErrRejected) { // it is held
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}
