package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/keeper"
)

// useFile says whether memory is in use with the store, which decides whether agents have its tools: in a word, used or
// unused. The index does not say it: whoever only looks for documents makes one.
func (h *Home) useFile() string { return strings.TrimSuffix(h.indexFile(), ".db") + ".use" }

// The words of a useFile.
const (
	used   = "used\n"
	unused = "unused\n"
)

// useMemory notes that somebody set memory up for the store in use.
func (h *Home) useMemory() error {
	if h.openIndex() == "" {
		return nil
	}
	if is, err := os.ReadFile(h.useFile()); err == nil && string(is) == used {
		return nil
	}
	return os.WriteFile(h.useFile(), []byte(used), 0o600)
}

// usesMemory reports whether memory is in use with a store: somebody set it up, or the store holds a role or workspace
// that counts here. An index without a useFile is of a home that was set up before there were such files.
func (h *Home) usesMemory(ctx context.Context, s perdure.Store) (bool, error) {
	if h.agent != "" {
		return false, nil
	}
	word, err := os.ReadFile(h.useFile())
	if errors.Is(err, fs.ErrNotExist) {
		if _, err = os.Stat(h.indexFile()); err == nil {
			return true, nil
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) || string(word) == used {
		return err == nil, err
	}
	l, ok := s.(perdure.Lister)
	if !ok {
		return false, nil
	}
	for _, kind := range []string{keeper.Role, keeper.Workspace} {
		for at, err := range l.List(ctx, perdure.Filter{Kind: kind}) {
			if err != nil {
				return false, err
			}
			if a, err := h.Load(ctx, s, at.Agent); err == nil && len(a.Fold().Paused) == 0 {
				return true, nil
			}
		}
	}
	return false, nil
}

// beginIndex notes, before there is an index, that this does not mean that memory is in use.
func (h *Home) beginIndex() error {
	_, err := os.Stat(h.openIndex())
	if h.openIndex() == "" || !errors.Is(err, fs.ErrNotExist) {
		return nil // opening it says what is wrong
	}
	err = disk.WriteNew(h.useFile(), []byte(unused), 0o600)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("open the search index: %w", err)
	}
	return nil
}
