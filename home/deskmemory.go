package home

import (
	"context"
	"fmt"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// Memories are what visitors keep across sessions. Each has the memory of one role: the one of their name, and the
// owner that of workspace.DefaultRole. What a role sees of documents and transcripts is decided where it is for
// everybody, in the workspace and by its policy. Desk must be set.
type Memories struct {
	Desk *Desk

	mu sync.Mutex
	at *workspace.Workspace // nil: nobody has used it
}

// Of is the memory of a visitor. It is refused to those who may not look at documents in every scope.
func (m *Memories) Of(ctx context.Context, v *Visitor) (*workspace.Reader, error) {
	if err := v.May(VerbMemory); err != nil {
		return nil, err
	}
	if !v.MayEverywhere(VerbMemory) {
		return nil, fmt.Errorf("%w: %s may not use memory in every scope", perdure.ErrDenied, v.Name)
	}
	role := v.Name
	if v.ID() == ownerID {
		role = workspace.DefaultRole
	}
	if err := workspace.CheckRole(role); err != nil {
		return nil, perdure.WithHint(err, "the memory of a token is that of the role of its name: make one whose "+
			"name is a role, with perdure token new")
	}
	w, err := m.open(ctx)
	if err != nil {
		return nil, err
	}
	return w.As(ctx, role)
}

// open opens the documents when they are first used.
func (m *Memories) open(ctx context.Context) (w *workspace.Workspace, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at == nil {
		if w, err = m.Desk.Home.Workspace(context.WithoutCancel(ctx), m.Desk.Store, m.Desk.Node); err != nil {
			return nil, err
		}
		m.at = w
	}
	return m.at, nil
}

// Close closes what was opened.
func (m *Memories) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at == nil {
		return nil
	}
	w := m.at
	m.at = nil
	return w.Index.Close()
}
