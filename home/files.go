package home

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
	"github.com/perdure/perdure/workspace/files"
)

// FolderName is the folder that memory is projected into, if nobody says.
const FolderName = "memory"

// Folder is a folder to be synced with the memory of a role.
type Folder struct {
	files.Folder
	Role string
	Key  string // the file of the key that signs what people change; empty: the home's own
}

// UseFolder calls f with a folder over the documents of a workspace of this home.
func (h *Home) UseFolder(ctx context.Context, w *workspace.Workspace, x *Folder,
	f func(context.Context, *files.Folder) error) (err error) {
	if h.Dir == "" {
		return perdure.Invalid(errors.New("a folder needs a home, which records what was written into it"))
	}
	if !h.Loose && disk.Within(x.Dir, h.Dir) {
		return perdure.Invalid(fmt.Errorf("%s is in the home: name a folder outside it", view.InLine(x.Dir)))
	}
	if info, err := os.Stat(x.Dir); err == nil && !info.IsDir() {
		return perdure.WithHint(perdure.Invalid(fmt.Errorf("%s is a file, not a folder", view.InLine(x.Dir))),
			"name a folder: all files in it are synced")
	}
	if x.Reader, err = w.As(ctx, x.Role); err != nil {
		return err
	}
	if x.Key != "" {
		if x.Person, err = h.personIn(ctx, w, x); err != nil {
			return err
		}
	}
	if x.Store, err = h.storeName(); err != nil {
		return err
	}
	path := filepath.Join(h.Dir, files.StateFile)
	if h.Loose && h.Scheme == "sqlite" {
		path = h.File + "-" + files.StateFile
	}
	if x.State, err = files.OpenState(ctx, path); err != nil {
		return err
	}
	return errors.Join(f(ctx, &x.Folder), x.State.Close())
}

// storeName is by what the store is told from others of this machine.
func (h *Home) storeName() (string, error) {
	if h.Scheme != "sqlite" && h.Scheme != "dir" {
		return h.Scheme + ":" + h.File, nil
	}
	file, err := filepath.Abs(h.File)
	return h.Scheme + ":" + file, err
}

// personIn is a role's memory, as somebody else signs in it.
func (h *Home) personIn(ctx context.Context, w *workspace.Workspace, x *Folder) (*workspace.Reader, error) {
	key, err := keyfile.Read(x.Key)
	if err != nil {
		return nil, fmt.Errorf("read the key of whoever edits: %w", err)
	}
	node, err := h.Node(ctx, w.Store)
	if err != nil {
		return nil, err
	}
	if scope := x.Reader.Scope(); !w.Node.Trusted().Allows(key.Key(), perdure.MayAuthor, scope) {
		return nil, perdure.WithHint(fmt.Errorf("%w: the key of %s is not trusted to write in %s", perdure.ErrDenied,
			key.Name, scope), "perdure key trust "+key.VerifierKey()+" --rights author --scope "+scope)
	}
	node.Key = key
	theirs := &workspace.Workspace{Store: w.Store, Node: node, Index: w.Index, Vault: w.Vault, Allow: w.Allow,
		Holds: w.Holds, Resolve: w.Resolve, Scope: w.Scope}
	a, err := node.Load(ctx, x.Reader.Agent())
	if err != nil {
		return nil, err
	}
	return theirs.For(ctx, a)
}
