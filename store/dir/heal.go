package dir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
)

var _ perdure.Healer = (*Store)(nil)

// asideMark is in the names of damaged files that another has taken the place of. They are not looked at, but to heal.
const asideMark = capsule.DamagedMark

// Heal implements perdure.Healer. The damaged file is kept beside the new one.
func (s *Store) Heal(ctx context.Context, id perdure.AgentID, good []*perdure.Entry) (out perdure.Healed, err error) {
	if len(good) == 0 {
		if d, err := s.Depth(ctx, id); err == nil && d.Healable() != nil {
			return out, fmt.Errorf("heal agent %s: %w", id.Short(), d.Healable())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err = s.usable(ctx); err == nil {
		if s.looks {
			err = errLooks
		} else if err = s.look(); err == nil {
			out, err = s.heal(id, good)
		}
	}
	if err != nil {
		return out, fmt.Errorf("heal agent %s: %w", id.Short(), err)
	}
	return out, nil
}

func (s *Store) heal(id perdure.AgentID, good []*perdure.Entry) (out perdure.Healed, err error) {
	name, err := s.fileOf(id)
	if err != nil {
		return out, err
	}
	here, lost, err := s.salvage(id, name)
	if err != nil {
		return out, err
	}
	all := slices.Clone(here)
	for _, other := range s.asideOf(id) {
		more, _, err := s.salvage(id, other)
		if err != nil {
			return out, err
		}
		all = append(all, more...)
	}
	whole, rest := out.Join(slices.Concat(all, good))
	out.Aside = int64(len(rest) + lost)
	out.Gained += out.Entries - int64(len(here))
	if len(whole) == 0 || out.Gained == 0 && s.sound(name) {
		return out, nil // nothing of it can be used, or nothing is wrong with it
	}
	if h := s.open[id]; h != nil {
		if delete(s.open, id); h.users == 0 {
			_ = h.Close()
		}
	}
	if err := capsule.Exchange(s.path(name), s.path(name)+asideMark+time.Now().UTC().Format("20060102-150405.000"),
		whole); err != nil {
		return out, err
	}
	delete(s.files, name)
	delete(s.agents, id)
	return out, errors.Join(s.unfeed(id), s.look())
}

// sound reports whether a file holds a memory that verifies.
func (s *Store) sound(name string) bool {
	l, err := s.openLog(name)
	if err != nil {
		return false
	}
	defer func() { _ = l.Close() }() // it was only read
	_, err = perdure.Verify(memoryOf(l), perdure.VerifyOptions{})
	return err == nil
}

// salvage reads what is left of an agent in a file.
func (s *Store) salvage(id perdure.AgentID, name string) (entries []*perdure.Entry, lost int, err error) {
	entries, lost, err = capsule.Salvage(s.path(name))
	return slices.DeleteFunc(entries, func(e *perdure.Entry) bool { return e.ID() != id }), lost, err
}

// fileOf finds the file of an agent, damaged or not. The caller holds mu.
func (s *Store) fileOf(id perdure.AgentID) (string, error) {
	if a := s.agents[id]; a != nil {
		return a.main, nil
	}
	for name, f := range s.files {
		if f.fault != nil && s.agentOf(name, f) == id {
			return name, nil
		}
	}
	return "", perdure.ErrNotFound
}

// asideOf finds the damaged files of an agent that another has taken the place of.
func (s *Store) asideOf(id perdure.AgentID) (names []string) {
	found, _ := filepath.Glob(s.path("*-" + id.Short() + capsule.Ext + asideMark + "*")) // the pattern is good
	for _, path := range found {
		names = append(names, filepath.Base(path))
	}
	return names
}

// agentOf finds out whose a damaged file is: as it says, as the index says, or as the entries say that are left in it.
func (s *Store) agentOf(name string, f *file) perdure.AgentID {
	if !f.agent.IsZero() {
		return f.agent
	}
	s.journal.mu.Lock()
	for id, r := range s.journal.rows {
		if r.File == name {
			f.agent = id
		}
	}
	s.journal.mu.Unlock()
	if f.agent.IsZero() {
		f.agent = capsule.Owner(s.path(name))
	}
	return f.agent
}

// Ailing implements perdure.Healer: the agents whose files cannot be read.
func (s *Store) Ailing(ctx context.Context) (map[perdure.AgentID]perdure.Ailment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.usable(ctx)
	var rows map[perdure.AgentID]row
	if err == nil {
		rows, err = s.journal.current()
	}
	if err == nil {
		err = s.survey(rows)
	}
	if err != nil {
		return nil, fmt.Errorf("look for damaged agents: %w", err)
	}
	out := map[perdure.AgentID]perdure.Ailment{}
	for name, f := range s.files {
		if f.fault == nil {
			continue
		}
		id := s.agentOf(name, f)
		if a := s.agents[id]; id.IsZero() || a != nil && a.main != name {
			continue // nobody's, or a copy beside a good file
		}
		x := perdure.Ailment{Reason: f.fault, Gone: true}
		if l := rows[id].Listing; l != nil {
			x.Name = l.Name
		} else if of, ours := strings.CutSuffix(name, "-"+id.Short()+capsule.Ext); ours {
			x.Name = of // people may call a file anything else
		}
		if errors.Is(f.fault, os.ErrNotExist) {
			continue
		}
		out[id] = x
	}
	return out, nil
}

// Tops is the heads of every agent whose file can be read, as of when the file was last looked at.
func (s *Store) Tops(ctx context.Context) (map[perdure.AgentID][]perdure.Hash, error) {
	out := map[perdure.AgentID][]perdure.Hash{}
	err := s.surveyed(ctx, func(map[perdure.AgentID]row) {
		for id, a := range s.agents {
			out[id] = a.heads
		}
	})
	if err != nil {
		return nil, fmt.Errorf("heads of all agents: %w", err)
	}
	return out, nil
}
