package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/store/sqlite"
)

const (
	nextKeyFile = "key.next" // while a rotation is under way: the key that will be the home's
	oldKeyFile  = "key.old." // and the beginning of what it signed with before
)

// keysChanged is what rotate and revoke print.
type keysChanged struct {
	Key    perdure.Key       `json:"key"`              // the new one, or the one revoked
	Old    perdure.Key       `json:"old,omitzero"`     // the one it replaces
	Text   string            `json:"text,omitempty"`   // as a trust file takes it
	Agents []perdure.AgentID `json:"agents"`           // changed now
	Failed []keyFailure      `json:"failed,omitempty"` // not changed, and why
}

type keyFailure struct {
	Agent perdure.AgentID `json:"agent"`
	Why   string          `json:"why"`
}

func keyRotateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "rotate [flags]",
		Short: "Give this store a new key, and its agents to it",
		Long: `Rotate makes a new key and hands every agent of the old one over to it, each by an entry the old key signs. Then the new key is the one this
store signs with. It can be interrupted at any time: run it again, and it goes on with the same new key. The old key stays in the home under
another name, and trusted: its past entries count, and nodes that still run with it can go on. When they have ended, take the old key back
with perdure key revoke.

With --resume it makes no new key, but hands over what still belongs to an earlier key of this home: agents of another store (--store dir:…),
and ones that arrived since.`,
		Example: `  perdure key rotate
  perdure key rotate --resume --store dir:/media/stick/agents
  perdure key revoke alice+c0ffee12+AX…`,
		Args:        cobra.NoArgs,
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitInterrupted),
	}
	h, out := storeFlag(c), outputFlags(c)
	name := c.Flags().String("name", "", "what to call the new key (default: as the old one)")
	resume := c.Flags().Bool("resume", false, "make no new key: hand over what still belongs to an earlier one")
	force := c.Flags().Bool("force", false, "take the new key into use even if some agents could not be handed over")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if _, err := h.keyPath(); err != nil {
			return err
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			r, err := h.rotate(ctx, s, *name, *resume, *force)
			if r == nil {
				return err
			}
			return errors.Join(err, out.print(r, func(w io.Writer) error { return r.write(w, "handed over to "+r.Text) }))
		})
	}
	return c
}

// write is what was changed, for people.
func (r *keysChanged) write(w io.Writer, what string) error {
	_, err := fmt.Fprintf(w, "%d agents %s\n", len(r.Agents), what)
	for _, f := range r.Failed {
		if err == nil {
			_, err = fmt.Fprintf(w, "%s: not changed: %s\n", f.Agent.Short(), f.Why)
		}
	}
	return err
}

// rotate hands the agents of a store over to a new key, or to the present one if resume is set, and takes the new key into use.
func (h *home) rotate(ctx context.Context, s perdure.Store, name string, resume, force bool) (*keysChanged, error) {
	path, next := filepath.Join(h.dir, keyFile), filepath.Join(h.dir, nextKeyFile)
	present, err := keyfile.Read(path)
	if err != nil {
		return nil, err
	}
	from, to := []*perdure.Signer{present}, present
	switch _, err := os.Lstat(next); {
	case resume && err == nil:
		return nil, &advised{errors.New("a rotation is under way"), "go on with it: " + suggest("key rotate")}
	case resume:
		if from, err = h.oldKeys(); err != nil {
			return nil, err
		}
	default:
		if to, err = h.nextKey(next, name, present.Name); err != nil {
			return nil, err
		}
		if to.Key() == present.Key() { // it was taken into use, and then something was cut off
			return &keysChanged{Key: to.Key(), Text: to.VerifierKey(), Agents: []perdure.AgentID{}}, disk.Remove(next)
		}
	}
	r := &keysChanged{Key: to.Key(), Text: to.VerifierKey(), Agents: []perdure.AgentID{}}
	for _, old := range from {
		r.Old = old.Key()
		err := h.eachOwned(ctx, s, old, r, "key rotate", func(n *perdure.Node, id perdure.AgentID) (*perdure.Entry, error) {
			return n.HandOver(ctx, id, to.Key())
		})
		if err != nil {
			return nil, err
		}
	}
	switch {
	case len(r.Failed) > 0 && !force:
		hint := "run it again; or take the new key into use all the same with --force, and hand those over later with --resume"
		return r, &advised{fmt.Errorf("%d agents could not be handed over; this store still signs with the old key", len(r.Failed)), hint}
	case resume:
		return r, nil
	}
	return r, h.takeIntoUse(present, path, next)
}

// nextKey is the key a rotation leads to: the one an interrupted rotation made, or a new one, which is trusted before any agent is its own.
func (h *home) nextKey(path, name, old string) (*perdure.Signer, error) {
	s, err := keyfile.Read(path)
	if errors.Is(err, perdure.ErrNotFound) {
		if name == "" {
			name = old
		}
		if s, err = perdure.GenerateSigner(name); err != nil {
			return nil, misuse(h.c, err)
		}
		if err = keyfile.Write(path, s); err == nil {
			err = disk.Sync(h.dir)
		}
	}
	if err != nil {
		return nil, err
	}
	return s, h.trustKey(perdure.Trustee{Key: s.Key(), Name: s.Name, Rights: perdure.MayOwn, Scope: perdure.AnyScope, Comment: madeComment})
}

// takeIntoUse makes the next key the one of the home, in one step. The old one keeps a name.
func (h *home) takeIntoUse(old *perdure.Signer, path, next string) error {
	kept := filepath.Join(h.dir, oldKeyFile+old.Key().Short())
	if err := disk.Link(path, kept); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := disk.Sync(h.dir); err != nil {
		return err
	}
	own := h.own()
	if err := errors.Join(disk.Rename(next, path), disk.Sync(h.dir)); err != nil {
		return err
	}
	if s, err := keyfile.Read(path); err == nil && own {
		_ = keepNote(madeDir, keyNote(s.Key()), h.dir) // without it the home is asked about once
	}
	note(h.c, "the old key is at %s; when no node runs with it any more: %s %s", kept, suggest("key revoke"), old.VerifierKey())
	return nil
}

// oldKeys are the keys this home signed with before.
func (h *home) oldKeys() ([]*perdure.Signer, error) {
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
func (h *home) begins(prefix string) ([]string, error) {
	files, err := os.ReadDir(h.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var paths []string
	for _, f := range files {
		if strings.HasPrefix(f.Name(), prefix) {
			paths = append(paths, filepath.Join(h.dir, f.Name()))
		}
	}
	return paths, err
}

// eachOwned does something to every agent a key owns, with that key, and notes what came of it.
func (h *home) eachOwned(ctx context.Context, s perdure.Store, key *perdure.Signer, r *keysChanged, what string, do func(*perdure.Node, perdure.AgentID) (*perdure.Entry, error)) error {
	l, err := lister(s)
	if err != nil {
		return err
	}
	var ids []perdure.AgentID
	for one, err := range l.List(ctx, perdure.Filter{}) {
		if err != nil {
			return err
		}
		ids = append(ids, one.Agent)
	}
	n, err := h.node(s)
	if err != nil {
		return err
	}
	n.Key = key
	bar := newProgress(h.c, what, int64(len(ids)))
	defer bar.end()
	for i, id := range ids {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a, err := h.load(ctx, s, id)
		if err == nil && a.Fold().Charter.Owner == key.Key() {
			var e *perdure.Entry
			if e, err = do(n, id); e != nil {
				r.Agents = append(r.Agents, id)
				if a, e := perdure.Load(ctx, s, id); e == nil {
					err = errors.Join(err, index(ctx, s, a))
				}
			}
		}
		if err != nil {
			r.Failed = append(r.Failed, keyFailure{id, err.Error()})
		}
		bar.to(int64(i + 1))
	}
	return nil
}

func keyRevokeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "revoke [flags] KEY",
		Short: "Revoke a key in every agent of this store, and in its trust file",
		Long: `Revoke records in every agent this store's key owns that another key counts no more, and takes back what the trust file trusts it with. What
the key wrote before, as far as it is here, still counts in these agents; everything else it writes, or wrote without it being here, counts
for nothing. Agents of other owners are not changed: that is for their owners.

KEY is one word as perdure key show prints it, or 64 hex digits. The key this store signs with is not revoked: rotate it first.`,
		Example: `  perdure key revoke bob+00d15ea5+AY…
  perdure key rotate && perdure key revoke $OLD`,
		Args:        cobra.ExactArgs(1),
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitInterrupted),
	}
	h, out := storeFlag(c), outputFlags(c)
	comment := c.Flags().String("comment", "", "a comment for the trust file")
	c.RunE = func(c *cobra.Command, args []string) error {
		who, err := trusteeOf(args[0], "", "", *comment, true)
		if err != nil {
			return misuse(c, err)
		}
		path, err := h.keyPath()
		if err != nil {
			return err
		}
		key, err := keyfile.Read(path)
		if err != nil {
			return err
		}
		if key.Key() == who.Key {
			return &advised{errors.New("this store signs with that key"), "give it another first: " + suggest("key rotate")}
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			r := &keysChanged{Key: who.Key, Text: args[0], Agents: []perdure.AgentID{}}
			err := h.eachOwned(ctx, s, key, r, "key revoke", func(n *perdure.Node, id perdure.AgentID) (*perdure.Entry, error) { return n.Revoke(ctx, id, who.Key) })
			if err != nil {
				return err
			}
			if err := h.trustKey(who); err != nil {
				return err
			}
			if len(r.Failed) > 0 {
				err = fmt.Errorf("the key is not trusted here any more, but %d agents do not say so; run it again", len(r.Failed))
			}
			return errors.Join(err, out.print(r, func(w io.Writer) error { return r.write(w, "say that "+r.Text+" counts no more") }))
		})
	}
	return c
}

// madeComment marks, in a trust file, a key this home signs or signed with.
const madeComment = "made here"

// hadKey says how it is known that this home signed with a key before; "": it did not. A new key in its place would be one its agents do not
// answer to, and nobody would notice until something waits for ever.
func (h *home) hadKey(ctx context.Context) (string, error) {
	found, err := h.begins(keyFile + ".")
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return "there is " + found[0], nil
	}
	t, err := h.trust()
	if err != nil {
		return "", err
	}
	for _, who := range t.Trustees() {
		if who.Comment == madeComment {
			return fmt.Sprintf("its trust file names %s, made here", who.Key.Short()), nil
		}
	}
	if _, err := os.Lstat(filepath.Join(h.dir, witnessFile)); err == nil {
		return "it has a record of agents seen here", nil
	}
	return h.hasAgents(ctx)
}

// hasAgents says that there is an agent in the store of this home.
func (h *home) hasAgents(ctx context.Context) (string, error) {
	if h.scheme != "sqlite" { // a folder of agents may be somebody else's
		return "", nil
	}
	if _, err := os.Stat(h.file); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	s, err := sqlite.Open(ctx, h.file, sqlite.Options{Existing: true, Sync: h.options.Sync})
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

// lostKey refuses to go on without the key this home had.
func (h *home) lostKey() error {
	why, err := h.hadKey(h.c.Context())
	if err != nil || why == "" {
		return err
	}
	path := filepath.Join(h.dir, keyFile)
	return &advised{fmt.Errorf("the key of this home is gone from %s: %s", path, why),
		"put it back from a backup; if it is lost for good, " + suggest("key new") + " makes another, which owns none of the agents that are here"}
}
