package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/view"
)

// ownTrust is a trust file together with the key of the home.
type ownTrust struct {
	file, all *perdure.Trust
	key       *perdure.Signer
}

// Signer is the key this home signs with, once what the home says is accepted. The first time it makes one, and says
// so, unless it only looks; a key that was there and is gone is not replaced.
func (h *Home) Signer(ctx context.Context) (*perdure.Signer, error) {
	if h.Dir == "" {
		return perdure.GenerateSigner(keyName())
	}
	if err := h.Consent(); err != nil {
		return nil, err
	}
	s, err := h.Key()
	if s != nil || err != nil {
		return s, err
	}
	if err := h.lostKey(ctx); err != nil {
		return nil, err
	}
	if h.Looks { // nothing is signed with it
		return perdure.GenerateSigner(keyName())
	}
	s, err = h.makeKey(keyName())
	if errors.Is(err, fs.ErrExist) {
		return h.Key() // another process was first
	}
	if err != nil {
		return nil, err
	}
	h.note("made a key in %s: keep it safe, agents made here answer to it", filepath.Join(h.Dir, KeyFile))
	return s, nil
}

// Key is the key of this home, nil if it has none yet.
func (h *Home) Key() (*perdure.Signer, error) {
	if h.Dir == "" {
		return nil, nil
	}
	path := filepath.Join(h.Dir, KeyFile)
	s, err := h.key.Get(path, func() (*perdure.Signer, error) { return keyfile.Read(path) })
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, perdure.ErrNotFound) {
		return nil, nil
	}
	return s, err
}

// makeKey makes the key of this home, and trusts it. The error wraps fs.ErrExist if there is one.
func (h *Home) makeKey(name string) (*perdure.Signer, error) {
	s, err := newSigner(name)
	if err != nil {
		return nil, perdure.Invalid(err)
	}
	if err := h.MakeHome(); err != nil {
		return nil, err
	}
	return s, h.change(func() error {
		h.madeHere(s.Key()) // before it is there: another process that finds it knows whose it is
		if err := keyfile.Write(filepath.Join(h.Dir, KeyFile), s); err != nil {
			return err
		}
		own := ownLine(s)
		own.Comment = madeComment
		return h.TrustKey(own)
	})
}

// Trust is whom this home trusts now: those it names, and its own key, as for a node. A home that was found and not
// accepted trusts nobody. While the files are the same, so is what it returns.
func (h *Home) Trust() (*perdure.Trust, error) {
	if !h.counts() {
		return perdure.NewTrust(), nil
	}
	t, err := h.ReadTrust()
	if err != nil {
		return nil, err
	}
	s, err := h.Key()
	if err != nil {
		s = nil // one that cannot be read signs nothing
	}
	was := h.whole.Load()
	if was != nil && was.file == t && was.key == s {
		return was.all, nil
	}
	w := &ownTrust{file: t, key: s, all: t}
	if s != nil {
		w.all = t.With(ownLine(s))
	}
	if was != nil && was.all.String() == w.all.String() {
		w.all = was.all // it was read again, and says the same
	}
	h.whole.Store(w)
	return w.all, nil
}

// ownLine trusts the key of a home with everything in it.
func ownLine(s *perdure.Signer) perdure.Trustee {
	return perdure.Trustee{Key: s.Key(), Name: s.Name, Rights: perdure.MayOwn, Scope: perdure.AnyScope}
}

// ReadTrust is the trust file as it is written; empty if there is none.
func (h *Home) ReadTrust() (*perdure.Trust, error) {
	if h.Dir == "" {
		return perdure.NewTrust(), nil
	}
	path := filepath.Join(h.Dir, TrustFile)
	t, err := h.trust.Get(path, func() (*perdure.Trust, error) {
		f, err := disk.Open(path)
		if err != nil {
			return nil, err
		}
		t, err := perdure.ParseTrust(f)
		if err != nil {
			err = perdure.WithHint(fmt.Errorf("%s: %w", path, err), "correct that line of "+path)
		}
		return t, errors.Join(err, f.Close())
	})
	if errors.Is(err, fs.ErrNotExist) {
		return perdure.NewTrust(), nil
	}
	return t, err
}

// TrustKey adds a line to the trust file, which is replaced whole. Of several processes that do, none loses another's
// line.
func (h *Home) TrustKey(who perdure.Trustee) error {
	path := filepath.Join(h.Dir, TrustFile)
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := disk.Lock(lock, true); err != nil {
		return errors.Join(err, lock.Close())
	}
	err = h.change(func() error { return h.writeTrust(path, who) })
	return errors.Join(err, disk.Unlock(lock), lock.Close())
}

func (h *Home) writeTrust(path string, who perdure.Trustee) error {
	t, err := h.ReadTrust()
	if err != nil {
		return err
	}
	for _, known := range t.Trustees() { // people know it by its name
		if known.Key == who.Key && who.Name == "" && !who.Revoked {
			who.Name = known.Name
		}
	}
	lines := t.Trustees()
	for i := range lines { // nor is one that was trusted without a name
		if lines[i].Key == who.Key && lines[i].Name == "" && !lines[i].Revoked {
			lines[i].Name = who.Name
		}
	}
	t = perdure.NewTrust(lines...)
	f, err := os.CreateTemp(h.Dir, TrustFile+".*.part")
	if err != nil {
		return err
	}
	_, err = t.Again(who).WriteTo(f)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return errors.Join(os.Rename(f.Name(), path), disk.Sync(h.Dir))
}

// newSigner makes a key with a name that stands for nobody else.
func newSigner(name string) (*perdure.Signer, error) {
	if err := perdure.CheckName("a key", name); err != nil {
		return nil, err
	}
	return perdure.GenerateSigner(name)
}

// keyName is what people call a key made here: the user's name, as one word.
func keyName() string {
	name := "me"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	name = strings.Map(func(r rune) rune {
		if r == '+' || r <= ' ' || r > '~' {
			return '-'
		}
		return r
	}, name)
	if perdure.CheckName("a key", name) != nil {
		name += "-user"
	}
	return name
}

// Voices are who says what in an agent, as this home trusts at that time: see view.VoicesOf.
func (h *Home) Voices(load func() (*perdure.Agent, error)) view.Voices {
	return view.VoicesOf(load, func() *perdure.Trust {
		t, err := h.Trust()
		if err != nil {
			return perdure.NewTrust()
		}
		return t
	})
}

// VoicesIn are the voices in an agent that is at hand.
func (h *Home) VoicesIn(a *perdure.Agent) view.Voices {
	return h.Voices(func() (*perdure.Agent, error) { return a, nil })
}

// Ended reports whether an agent has ended, as far as that counts here: a stranger's word ends none of somebody here.
func (h *Home) Ended(a *perdure.Agent) (bool, error) {
	t, err := h.Trust()
	return err == nil && t.Ended(a) != nil, err
}

// KeyNames are the names of the keys this home knows; empty for one it has no name for.
func (h *Home) KeyNames() map[perdure.Key]string {
	t, err := h.Trust()
	if err != nil {
		return map[perdure.Key]string{}
	}
	return t.Names()
}
