package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/dir"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
)

// Backed is a copy of a store.
type Backed struct {
	Path   string `json:"path"`
	Agents int64  `json:"agents"`
	Bytes  int64  `json:"bytes"`
	// Keep are the parts of the home that the copy does not have, to be kept with it.
	Keep []string `json:"keep,omitempty"`
}

// backupLook is how often it is looked how far a copy has come.
const backupLook = 100 * time.Millisecond

// backuper is a store that can copy itself while in use.
type backuper interface {
	// Backup writes a consistent copy of the store to a path that does not exist yet.
	Backup(ctx context.Context, path string) error
}

var (
	_ backuper = (*sqlite.Store)(nil)
	_ backuper = (*dir.Store)(nil)
)

// Backup copies the store to a path at which there is nothing, while others use it, and opens the copy to see what is
// in it.
func (h *Home) Backup(ctx context.Context, s perdure.Store, path string) (*Backed, error) {
	b, ok := s.(backuper)
	if !ok {
		err := perdure.Invalid(fmt.Errorf("a store of the kind %s cannot be copied while it is in use", h.Scheme))
		if h.remote != "" {
			hint := "copy its agents with perdure copy --from " + view.Pasted(Shown(h.remote)) + " --to PATH, also " +
				"while it is in use"
			if isPostgres(h.Scheme) {
				hint += "; or the database with pg_dump"
			}
			err = perdure.WithHint(perdure.Invalid(fmt.Errorf("a store on a server is backed up there, not to a path")),
				hint)
		}
		return nil, err
	}
	total := sizeOf(h.File)
	ctx, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(backupLook)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				h.Progressed("copying bytes", min(sizeOf(path), total-1), total)
			}
		}
	}()
	err := b.Backup(ctx, path)
	stop()
	<-watched
	h.Progressed("copying bytes", total, total)
	if err != nil {
		return nil, perdure.WithHint(err, "name a path at which there is nothing, on a disk that has room")
	}
	return h.backed(context.WithoutCancel(ctx), path)
}

// backed looks at a copy.
func (h *Home) backed(ctx context.Context, path string) (*Backed, error) {
	var s perdure.Store
	var err error
	if h.Scheme == "dir" {
		s, err = dir.Open(path, dir.Options{Look: true})
	} else {
		s, err = sqlite.Open(ctx, path, sqlite.Options{Existing: true, Look: true})
	}
	if err != nil {
		return nil, fmt.Errorf("the copy cannot be opened: %w", err)
	}
	out := &Backed{Path: path, Bytes: sizeOf(path), Keep: h.Keepsakes()}
	l, err := view.Lister(s)
	if err == nil {
		for _, e := range l.List(ctx, perdure.Filter{}) {
			if err = e; err != nil {
				break
			}
			out.Agents++
		}
	}
	return out, errors.Join(err, s.Close())
}

// sizeOf is how many bytes there are at a path and in what is beside it by a longer name.
func sizeOf(path string) (n int64) {
	found, err := filepath.Glob(path + "*")
	if err != nil {
		return 0
	}
	for _, top := range found {
		_ = filepath.WalkDir(top, func(_ string, e fs.DirEntry, err error) error { // what is gone meanwhile has no size
			if err != nil || !e.Type().IsRegular() {
				return nil
			}
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
			return nil
		})
	}
	return n
}
