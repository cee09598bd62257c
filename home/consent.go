package home

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/keyfile"
)

// maxConfig bounds what is read of a file of a home: it is written by people.
const maxConfig = 4 << 20

// The folders of what is recorded, in the user's state folder.
const (
	madeDir     = "made"     // keys made here, by a hash of the public key
	acceptedDir = "accepted" // what was accepted, by its hash
)

// stateRoot is the folder of a user's home that the state folder is in.
const stateRoot = ".local"

// errNoState says that there is nowhere to record anything.
var errNoState = errors.New("this user has no state folder: set HOME or XDG_STATE_HOME to a folder of your own")

// stateFolder is where this user's perdure keeps what must not be decided in a home. It belongs to the user, as does
// the folder it is in, so that a HOME kept across sudo is not taken for one's own.
func stateFolder() (string, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil || !filepath.IsAbs(home) || !mine(home) {
			return "", errNoState
		}
		base = filepath.Join(home, stateRoot, "state")
	}
	dir := filepath.Join(base, "perdure")
	for _, sub := range []string{madeDir, acceptedDir} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return "", errNoState
		}
	}
	if !mine(dir) || !mine(filepath.Join(dir, madeDir)) || !mine(filepath.Join(dir, acceptedDir)) {
		return "", errNoState
	}
	return dir, nil
}

// mine reports whether a folder belongs to this user and nobody else can write to it.
func mine(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	owner, known := disk.Owner(info)
	return !known || owner == disk.Myself() && info.Mode().Perm()&othersWrite == 0
}

// keepNote keeps a note of this user.
func keepNote(sub, name, text string) error {
	dir, err := stateFolder()
	if err != nil {
		return err
	}
	err = disk.Write(filepath.Join(dir, sub, name), []byte(text+"\n"), 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// hasNote reports whether this user has a note; known is false when there is nowhere to keep any.
func hasNote(sub, name string) (found, known bool) {
	dir, err := stateFolder()
	if err != nil {
		return false, false
	}
	_, err = os.Lstat(filepath.Join(dir, sub, name))
	return err == nil, true
}

// keyNote is how a key is noted.
func keyNote(k perdure.Key) string { return perdure.HashOf(k[:]).String() }

// madeHere notes that a key was made here, so that its home is known as this user's own. A home in which there was
// anything before its key is not: it is not known who wrote that.
func (h *Home) madeHere(k perdure.Key) {
	if h.Fresh {
		_ = keepNote(madeDir, keyNote(k), h.Dir) // without it the home is asked about once
	}
}

// Own reports whether this user's perdure made the home, and nobody else writes its files by way of a version control
// system.
//
// Without a state folder nothing could be recorded, nor can consent be. Then a home counts as one's own if it is for
// its owner alone, as is its key, and no version control system brought it: a clone makes no private files.
func (h *Home) Own() bool {
	key, err := keyfile.Read(filepath.Join(h.Dir, KeyFile))
	if err != nil || tracked(h.Dir) {
		return false
	}
	made, known := hasNote(madeDir, keyNote(key.Key()))
	if known {
		return made
	}
	info, err := os.Stat(h.Dir)
	return err == nil && info.Mode().Perm()&others == 0
}

// lostOwn reports whether a home has no key, and its trust file names one that was made here as its own. A clone, whose
// key is not there because nobody gives it away, names others.
func (h *Home) lostOwn() bool {
	t, err := h.ReadTrust()
	if s, none := h.Key(); err != nil || none != nil || s != nil {
		return false
	}
	return slices.ContainsFunc(t.Trustees(), func(who perdure.Trustee) bool {
		made, _ := hasNote(madeDir, keyNote(who.Key))
		return made && who.Comment == madeComment
	})
}

// Consent lets this command act by what a home says: if the home was named, is new or is this user's own, or if
// somebody has accepted exactly what it holds, or does so now.
func (h *Home) Consent() error {
	if yes, known := h.isJudged(); known && yes || h.settled() {
		h.judge(true)
		return nil
	}
	if err := h.keyWhole(); err != nil {
		return err
	}
	parts, digest, err := h.said()
	if err != nil {
		return err
	}
	if h.Ask != nil && !h.Looks {
		asked, yes, err := h.Ask(parts)
		switch {
		case err != nil:
			return err
		case asked && !yes:
			return fmt.Errorf("%w: %s was not accepted", perdure.ErrDenied, h.Dir)
		case asked:
			if err := keepNote(acceptedDir, digest, h.Dir); err != nil {
				h.note("this could not be recorded, and will be asked again: %v", err)
			}
			h.judge(true)
			return nil
		}
	}
	if h.lostOwn() {
		return h.lostKey(context.Background())
	}
	names := h.has()
	slices.Sort(names)
	return perdure.WithHint(
		fmt.Errorf("%s was found here, there is no record that %s made it on this machine, and what is in it (%s) "+
			"decides what runs; nobody has accepted it", h.Dir, userName(disk.Myself()), strings.Join(names, ", ")),
		"read it, then perdure key accept; or name the home yourself: --store "+h.Dir)

}

// keyWhole says that the file of the key is damaged, if so: whoever accepts the home could do nothing with it. Whatever
// else is wrong with the key is said where it is needed.
func (h *Home) keyWhole() error {
	_, err := keyfile.Read(filepath.Join(h.Dir, KeyFile))
	if damaged := new(perdure.Hint); errors.As(err, &damaged) {
		return err
	}
	return nil
}

// settled reports whether what a home says counts without asking anybody.
func (h *Home) settled() bool { return !h.Found || h.Fresh || h.Own() || h.accepted() }

// counts reports whether what a home says counts, for those who only look. They are told if it does not.
func (h *Home) counts() bool {
	yes, known := h.isJudged()
	if !known {
		if yes = h.settled(); !yes && !h.Completes {
			h.note("%s was found here and nobody has accepted it: nobody's entries count in it; see perdure key accept",
				h.Dir)
		}
		h.judge(yes)
	}
	return yes
}

// isJudged is whether what the home says counts, as far as that is known.
func (h *Home) isJudged() (yes, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.judged == nil {
		return false, false
	}
	return *h.judged, true
}

func (h *Home) judge(yes bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.judged = &yes
}

// accepted reports whether exactly what the home holds now has been accepted.
func (h *Home) accepted() bool {
	_, digest, err := h.said()
	if err != nil {
		return false
	}
	found, _ := hasNote(acceptedDir, digest)
	return found
}

// change changes something that decides in a home, by what this user asked for: a home that was accepted until then
// still is.
func (h *Home) change(f func() error) error {
	was := h.Found && (h.Fresh || h.accepted())
	if err := f(); err != nil || !was {
		return err
	}
	if _, digest, err := h.said(); err == nil {
		_ = keepNote(acceptedDir, digest, h.Dir) // without it the home is asked about again
	}
	return nil
}

// Accept records that what a home says is accepted, and returns it; none if it needs no acceptance.
func (h *Home) Accept() ([]Saying, error) {
	if err := h.Locate(); err != nil || !h.Found || h.Fresh {
		return nil, err
	}
	parts, digest, err := h.said()
	if err != nil {
		return nil, err
	}
	if err := keepNote(acceptedDir, digest, h.Dir); err != nil {
		return nil, perdure.WithHint(fmt.Errorf("this cannot be recorded: %w", err),
			"or name the home yourself: --store "+h.Dir)
	}
	return parts, nil
}

// Saying is a file of a home that decides.
type Saying struct {
	Name string // in the home, with slashes
	Text []byte
}

const (
	maxSayings     = 4096 // files that decide in one home, which a person is to read
	maxSayingDepth = 16   // folders in folders; links may lead in circles
)

// said is everything that decides in a home, in order, and a digest of it and of where the home is.
func (h *Home) said() ([]Saying, string, error) {
	dir, err := filepath.Abs(h.Dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, "", err
	}
	var all []Saying
	for _, p := range h.parts() {
		if p.role != decides {
			continue
		}
		if all, err = sayings(all, p.path, filepath.Base(p.path), 0); err != nil {
			return nil, "", err
		}
	}
	sum := sha256.New()
	add := func(b []byte) {
		_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b)))) // a hash takes everything
		_, _ = sum.Write(b)
	}
	add([]byte("perdure accepts 2"))
	add([]byte(dir))
	for _, s := range all {
		add([]byte(s.Name))
		add(s.Text)
	}
	return all, hex.EncodeToString(sum.Sum(nil)), nil
}

// sayings adds what is at a path, with all below it. Links are followed, as they are by whoever reads the files.
func sayings(to []Saying, path, name string, depth int) ([]Saying, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return to, nil
	case err != nil:
		return nil, err
	case len(to) >= maxSayings || depth > maxSayingDepth:
		return nil, fmt.Errorf("%s: a home has at most %d files that decide, %d folders deep: "+
			"take out what is not of it", path, maxSayings, maxSayingDepth)
	case !info.IsDir():
		text, err := disk.ReadFile(path, maxConfig)
		return append(to, Saying{name, text}), err
	}
	found, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if to, err = sayings(to, filepath.Join(path, f.Name()), name+"/"+f.Name(), depth+1); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// maxIndex bounds what is read of the index of a version control system.
const maxIndex = 256 << 20

// tracked reports whether a version control system may have put files into a folder. When it cannot be told, it may
// have. No program is asked: in somebody else's checkout that would be theirs to configure.
func tracked(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return true
	}
	for at := filepath.Dir(real); ; at = filepath.Dir(at) {
		for _, other := range []string{".hg", ".svn", ".jj", ".bzr", "_darcs", ".fslckout"} {
			if _, err := os.Lstat(filepath.Join(at, other)); err == nil {
				return true
			}
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			inside, err := filepath.Rel(at, real)
			return err != nil || inIndex(filepath.Join(at, ".git"), filepath.ToSlash(inside))
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// inIndex reports whether the index of a git checkout names something in a folder, or cannot be read.
func inIndex(git, folder string) bool {
	if b, err := disk.ReadFile(git, maxConfig); err == nil { // a worktree or a submodule: the file names the folder
		at, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: ")
		if !ok {
			return true
		}
		if !filepath.IsAbs(at) {
			at = filepath.Join(filepath.Dir(git), at)
		}
		git = at
	}
	b, err := disk.ReadFile(filepath.Join(git, "index"), maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		_, err := os.Stat(filepath.Join(git, "HEAD"))
		return err != nil // a checkout without an index tracks nothing yet; what is no checkout cannot be judged
	}
	const header = 12
	// later ones shorten names
	if err != nil || len(b) < header || string(b[:4]) != "DIRC" || binary.BigEndian.Uint32(b[4:]) > 3 {
		return true
	}
	// Git for Windows and others may write names in another case, which is the same folder on some systems.
	return bytes.Contains(bytes.ToLower(b), []byte(strings.ToLower(folder)+"/"))
}
