package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// A home that is found beside one's files may have come with them, in an archive or a clone: it belongs to this user and was written by
// somebody else. So what its node.yaml starts and gives away is asked about once, unless the home is one's own. It is, if its key was made
// here, which is recorded outside of it.

// maxConfig bounds what is read of a file of a home: it is written by people.
const maxConfig = 4 << 20

// The folders of what is recorded, in the user's state folder.
const (
	madeDir     = "made"     // keys made here, by a hash of the public key
	acceptedDir = "accepted" // what was accepted, by its hash
)

// errNoState says that there is nowhere to record anything.
var errNoState = errors.New("this user has no state folder: set HOME or XDG_STATE_HOME to a folder of your own")

// stateFolder is where this user's perdure keeps what must not be decided in a home. It belongs to the user, as does the folder it is in,
// so that a HOME kept across sudo is not taken for one's own.
func stateFolder() (string, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil || !filepath.IsAbs(home) || !mine(home) {
			return "", errNoState
		}
		base = filepath.Join(home, ".local", "state")
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

// madeHere notes that a key was made here, so that its home is known as this user's own. A home that already said what to start when its
// key was made is not: it is not known who wrote that.
func (h *home) madeHere(k perdure.Key) {
	if _, err := os.Lstat(filepath.Join(h.dir, nodeFile)); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	_ = keepNote(madeDir, keyNote(k), h.dir) // without it the home is asked about once
}

// own reports whether this user's perdure made the home, and nobody else writes its node.yaml by way of a version control system.
//
// Without a state folder nothing could be recorded, nor can consent be. Then a home counts as one's own if it is for its owner alone, as is
// its key, and no version control system brought it: a clone makes no private files.
func (h *home) own() bool {
	key, err := perdure.ReadKey(filepath.Join(h.dir, keyFile))
	if err != nil || tracked(h.dir) {
		return false
	}
	made, known := hasNote(madeDir, keyNote(key.Key()))
	if known {
		return made
	}
	info, err := os.Stat(h.dir)
	return err == nil && info.Mode().Perm()&others == 0
}

// consent lets a node have what a file of a home gives it: if the home was named or is this user's own, or if somebody has accepted exactly
// this file and the policies beside it, or does so now.
func (h *home) consent(text []byte) error {
	if !h.found || len(bytes.TrimSpace(text)) == 0 || h.own() {
		return nil
	}
	digest, err := h.digest(text)
	if err != nil {
		return err
	}
	if accepted, _ := hasNote(acceptedDir, digest); accepted {
		return nil
	}
	path := filepath.Join(h.dir, nodeFile)
	if isTerminal(h.c.InOrStdin()) && isTerminal(h.c.ErrOrStderr()) && !h.looks {
		return h.askConsent(path, digest, text)
	}
	return &advised{
		fmt.Errorf("%s was found here, was not made by %s on this machine, and says what to start; nobody has accepted it", path, userName(disk.Myself())),
		"read it, then perdure node --accept; or name the home, with --store " + h.dir,
	}
}

// askConsent shows a person what a home would start, whole, and asks.
func (h *home) askConsent(path, digest string, text []byte) error {
	note(h.c, "%s was found here and was not made by you on this machine. It says:", path)
	if err := showWhole(h.c.ErrOrStderr(), text); err != nil {
		return err
	}
	note(h.c, "programs and servers in it are started, files and secrets in it are read, as you. To accept it, type yes")
	line, err := bufio.NewReader(h.c.InOrStdin()).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "yes" {
		return fmt.Errorf("%w: %s was not accepted", errDenied, path)
	}
	if err := keepNote(acceptedDir, digest, h.dir); err != nil {
		note(h.c, "this could not be recorded, and will be asked again: %v", err)
	}
	return nil
}

// accept records that what the node.yaml of a home starts is accepted, and shows it.
func (h *home) accept(w io.Writer) error {
	if err := h.locate(); err != nil {
		return err
	}
	path := filepath.Join(h.dir, nodeFile)
	text, err := disk.ReadFile(path, maxConfig)
	if err != nil {
		return err
	}
	if !h.found {
		_, err := fmt.Fprintf(w, "%s needs no acceptance: its home was named, or is your own data folder\n", path)
		return err
	}
	digest, err := h.digest(text)
	if err != nil {
		return err
	}
	if err := keepNote(acceptedDir, digest, h.dir); err != nil {
		return &advised{fmt.Errorf("this cannot be recorded: %w", err), "or name the home, with --store " + h.dir}
	}
	if err := showWhole(w, text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "accepted: %s, until it or the policies beside it change\n", path)
	return err
}

// digest names what decides what a home starts, and where it is: its node.yaml and its policies.
func (h *home) digest(text []byte) (string, error) {
	dir, err := filepath.Abs(h.dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	add := func(b []byte) {
		_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b)))) // a hash takes everything
		_, _ = sum.Write(b)
	}
	add([]byte("perdure accepts 1"))
	add([]byte(dir))
	add(text)
	found, err := filepath.Glob(filepath.Join(h.dir, policyDir, "*.cedar"))
	if err != nil {
		return "", err
	}
	for _, name := range found { // in order
		b, err := disk.ReadFile(name, maxConfig)
		if err != nil {
			return "", err
		}
		add([]byte(filepath.Base(name)))
		add(b)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// showWhole prints all of a text, such that nothing in it is taken for anything else.
func showWhole(w io.Writer, text []byte) error {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) }) {
			line = strconv.QuoteToASCII(line)
		}
		b.WriteString("  | " + line + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// maxIndex bounds what is read of the index of a version control system.
const maxIndex = 256 << 20

// tracked reports whether a version control system may have put files into a folder. When it cannot be told, it may have. No program is
// asked: in somebody else's checkout that would be theirs to configure.
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
	if err != nil || len(b) < header || string(b[:4]) != "DIRC" || binary.BigEndian.Uint32(b[4:]) > 3 { // later ones shorten names
		return true
	}
	// Git for Windows and others may write names in another case, which is the same folder on some systems.
	return bytes.Contains(bytes.ToLower(b), []byte(strings.ToLower(folder)+"/"))
}
