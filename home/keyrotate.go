package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
)

const (
	nextKeyFile = "key.next" // while a rotation is under way: the key that will be the home's
	oldKeyFile  = "key.old." // and the beginning of what it signed with before
)

// KeysChanged is what rotate and revoke print.
type KeysChanged struct {
	Key    perdure.Key       `json:"key"`              // the new one, or the one revoked
	Old    perdure.Key       `json:"old,omitzero"`     // the one it replaces
	Text   string            `json:"text,omitempty"`   // as a trust file takes it
	Agents []perdure.AgentID `json:"agents"`           // changed now
	Failed []keyFailure      `json:"failed,omitempty"` // not changed, and why
}

// Said says how many agents were changed, and which were not: one and several are what one agent does, and several do.
func (r *KeysChanged) Said(one, several string) string {
	if len(r.Agents) != 1 {
		one = several
	}
	text := view.Several(int64(len(r.Agents)), "agent") + " " + one
	for _, f := range r.Failed {
		text += fmt.Sprintf("\n%s: not changed: %s", f.Agent.Short(), f.Why)
	}
	return text
}

type keyFailure struct {
	Agent perdure.AgentID `json:"agent"`
	Why   string          `json:"why"`
}

// Rotate hands the agents of a store over to a new key, or to the present one if resume is set, and takes the new key
// into use.
func (h *Home) Rotate(ctx context.Context, s perdure.Store, name string, resume, force bool) (*KeysChanged, error) {
	path, next := filepath.Join(h.Dir, KeyFile), filepath.Join(h.Dir, nextKeyFile)
	present, err := h.present(ctx, path)
	if err != nil {
		return nil, err
	}
	from, to := []*perdure.Signer{present}, present
	switch _, err := os.Lstat(next); {
	case resume && err == nil:
		return nil, perdure.WithHint(errors.New("a rotation is under way"), "go on with it: perdure key rotate")
	case resume:
		if from, err = h.oldKeys(); err != nil {
			return nil, err
		}
	default:
		if to, err = h.nextKey(next, name, present.Name); err != nil {
			return nil, err
		}
		if to.Key() == present.Key() { // it was taken into use, and then something was cut off
			return &KeysChanged{Key: to.Key(), Text: to.VerifierKey(), Agents: []perdure.AgentID{}}, disk.Remove(next)
		}
	}
	r := &KeysChanged{Key: to.Key(), Text: to.VerifierKey(), Agents: []perdure.AgentID{}}
	for _, old := range from {
		r.Old = old.Key()
		err := h.eachOwned(ctx, s, old, r, "key rotate", func(n *perdure.Node, id perdure.AgentID) (*perdure.Entry,
			error) {
			return n.HandOver(ctx, id, to.Key())
		})
		if err != nil {
			return nil, err
		}
	}
	switch {
	case len(r.Failed) > 0 && !force:
		hint := "run it again; or take the new key into use all the same with perdure key rotate --force, and hand " +
			"those over later with perdure key rotate --resume"
		return r, perdure.WithHint(fmt.Errorf("%d agents could not be handed over; this store still signs with the "+
			"old key", len(r.Failed)), hint)
	case resume:
		return r, nil
	}
	return r, h.takeIntoUse(present, to, path, next)
}

// nextKey is the key a rotation leads to: the one an interrupted rotation made, or a new one, which is trusted before
// any agent is its own.
func (h *Home) nextKey(path, name, old string) (*perdure.Signer, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		if err := disk.Remove(path); err != nil { // nothing was ever signed with it
			return nil, err
		}
		h.note("%s was empty, as a full disk may have left it: the rotation begins anew, with another key", path)
	}
	s, err := keyfile.Read(path)
	if errors.Is(err, perdure.ErrNotFound) {
		if name == "" {
			name = old
		}
		if s, err = newSigner(name); err != nil {
			return nil, perdure.Invalid(err)
		}
		err = keyfile.Write(path, s)
	}
	if err != nil {
		return nil, err
	}
	return s, h.TrustKey(perdure.Trustee{Key: s.Key(), Name: s.Name, Rights: perdure.MayOwn, Scope: perdure.AnyScope,
		Comment: madeComment})
}

// takeIntoUse makes the next key the one of the home, in one step. The old one keeps a name.
func (h *Home) takeIntoUse(old, key *perdure.Signer, path, next string) error {
	kept := filepath.Join(h.Dir, oldKeyFile+old.Key().Short())
	if err := disk.Link(path, kept); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := disk.Sync(h.Dir); err != nil {
		return err
	}
	if h.Own() { // before it is there: whoever finds it, if this is cut off, knows whose it is
		_ = keepNote(madeDir, keyNote(key.Key()), h.Dir) // without it the home is asked about once
	}
	if err := errors.Join(disk.Rename(next, path), disk.Sync(h.Dir)); err != nil {
		return err
	}
	h.note("the old key is at %s; when no node runs with it any more: perdure key revoke %s", kept, old.VerifierKey())
	return nil
}

// oldKeys are the keys this home signed with before.
func (h *Home) oldKeys() ([]*perdure.Signer, error) {
	paths, err := h.begins(oldKeyFile)
	var keys []*perdure.Signer
	for _, path := range paths {
		s, err := keyfile.Read(path)
		if err != nil {
			return nil, err
		}
		keys = append(keys, s)
	}
	return keys, err
}

// begins are the paths of the files in this home whose names begin so.
func (h *Home) begins(prefix string) ([]string, error) {
	files, err := os.ReadDir(h.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var paths []string
	for _, f := range files {
		if strings.HasPrefix(f.Name(), prefix) {
			paths = append(paths, filepath.Join(h.Dir, f.Name()))
		}
	}
	return paths, err
}

// eachOwned does something to every agent a key owns, with that key, and notes what came of it.
func (h *Home) eachOwned(ctx context.Context, s perdure.Store, key *perdure.Signer, r *KeysChanged, what string,
	do func(*perdure.Node, perdure.AgentID) (*perdure.Entry, error)) error {
	ids, err := h.IDs(ctx, s)
	if err != nil {
		return err
	}
	n, err := h.Node(ctx, s)
	if err != nil {
		return err
	}
	n.Key = key
	for i, id := range ids {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a, err := h.Load(ctx, s, id)
		if err == nil && a.Fold().Charter.Owner == key.Key() {
			var e *perdure.Entry
			if e, err = do(n, id); e != nil {
				r.Agents = append(r.Agents, id)
				if a, e := perdure.Load(ctx, s, id); e == nil {
					err = errors.Join(err, Index(ctx, s, a))
				}
			}
		}
		if err != nil {
			r.Failed = append(r.Failed, keyFailure{id, err.Error()})
		}
		h.Progressed(what, int64(i+1), int64(len(ids)))
	}
	return nil
}

// madeComment marks, in a trust file, a key this home signs or signed with.
const madeComment = "made here"

// hadKey says how it is known that this home signed with a key before; "": it did not. A new key in its place would be
// one its agents do not answer to, and nobody would notice until something waits for ever.
func (h *Home) hadKey(ctx context.Context) (string, error) {
	found, err := h.begins(KeyFile + ".")
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return "there is " + found[0], nil
	}
	t, err := h.ReadTrust() // it only tells of a key, whether it counts or not
	if err != nil {
		return "", err
	}
	for _, who := range t.Trustees() {
		if who.Comment == madeComment {
			return fmt.Sprintf("its trust file names %s, made here", who.Key.Short()), nil
		}
	}
	if _, err := os.Lstat(filepath.Join(h.Dir, witnessFile)); err == nil {
		return "it has a record of agents seen here", nil
	}
	return h.hasAgents(ctx)
}

// hasAgents says that there is an agent in the store of this home.
func (h *Home) hasAgents(ctx context.Context) (string, error) {
	if h.Scheme != "sqlite" { // a folder of agents may be somebody else's
		return "", nil
	}
	if _, err := os.Stat(h.File); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	s, err := sqlite.Open(ctx, h.File, sqlite.Options{Existing: true, Sync: h.options.Sync})
	if err != nil {
		return "", err
	}
	for one, err := range s.List(ctx, perdure.Filter{}) {
		if err != nil {
			return "", errors.Join(err, s.Close())
		}
		return "there are agents in it, such as " + one.Agent.Short(), s.Close()
	}
	return "", s.Close()
}

// present is the key at the path of this home's own. One that was there and is gone is said to be gone: to make another
// costs the agents that are here.
func (h *Home) present(ctx context.Context, path string) (*perdure.Signer, error) {
	s, err := keyfile.Read(path)
	if errors.Is(err, perdure.ErrNotFound) {
		return nil, cmp.Or(h.lostKey(ctx), err)
	}
	return s, err
}

// lostKey refuses to go on without the key this home had.
func (h *Home) lostKey(ctx context.Context) error {
	why, err := h.hadKey(ctx)
	if err != nil || why == "" {
		return err
	}
	path := filepath.Join(h.Dir, KeyFile)
	if _, err := os.Lstat(path); err == nil {
		return nil // another process has made it meanwhile
	}
	return perdure.WithHint(fmt.Errorf("the key of this home is gone from %s: %s", path, why),
		"put it back from a backup; if it is lost for good, perdure key accept and then perdure key new make another, "+
			"which owns none of the agents that are here")

}

// notOwn refuses to take the rights of the key that this home signs with: nothing it writes would count.
func (h *Home) notOwn(k perdure.Key) error {
	path, err := h.KeyPath()
	if err != nil {
		return err
	}
	key, err := keyfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, perdure.ErrNotFound) {
		return nil
	}
	if err != nil || key.Key() != k {
		return err
	}
	return perdure.WithHint(errors.New("this store signs with that key"), "give it another first: perdure key rotate")
}

// Revoke records in every agent this home's key owns that a key counts no more, and takes its rights in the trust file
// back. The key the home signs with is refused.
func (h *Home) Revoke(ctx context.Context, s perdure.Store, who perdure.Trustee, text string) (*KeysChanged, error) {
	path, err := h.KeyPath()
	if err != nil {
		return nil, err
	}
	key, err := h.present(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := h.notOwn(who.Key); err != nil {
		return nil, err
	}
	r := &KeysChanged{Key: who.Key, Text: text, Agents: []perdure.AgentID{}}
	revoke := func(n *perdure.Node, id perdure.AgentID) (*perdure.Entry, error) { return n.Revoke(ctx, id, who.Key) }
	if err := h.eachOwned(ctx, s, key, r, "key revoke", revoke); err != nil {
		return nil, err
	}
	if err := h.TrustKey(who); err != nil {
		return nil, err
	}
	if len(r.Failed) > 0 {
		err = fmt.Errorf("the key is not trusted here any more, but %d agents do not say so; run it again",
			len(r.Failed))
	}
	return r, err
}
