package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/store/sqlite"
)

// foreignEnv names a home of another user that this one wants to use all the same: exactly that folder, and no other.
const foreignEnv = "PERDURE_FOREIGN_HOME"

const (
	others      fs.FileMode = 0o077 // what people other than the owner may do
	othersWrite fs.FileMode = 0o022
)

// vetting is one look at who decides in a home: whoever can write its policies, trust, node.yaml or key decides what
// runs as the user of this process.
type vetting struct {
	h       *Home
	allowed []int // whose files count: this user's and root's
	tighten bool  // take away from others what they need not have
	open    bool  // others can get at the files of the home

	found []weakness
}

// weakness is something about a home that lets somebody else decide, or read.
type weakness struct {
	About string // owner or mode
	What  string
	Fix   string
	Grave bool // somebody else may have decided already: nothing is done in such a home
}

// vet refuses a home in which somebody else may decide, and takes from others what they need not have of one's own.
func (h *Home) vet() error {
	for _, w := range h.weaknesses(!h.Looks) {
		if w.Grave {
			return perdure.WithHint(errors.New(w.What), w.Fix)
		}
	}
	return nil
}

// weaknesses looks at everything in the home that decides or is secret. With tighten it mends what is safe to mend.
func (h *Home) weaknesses(tighten bool) []weakness {
	if h.Dir == "" || disk.Myself() < 0 { // the system has no owners
		return nil
	}
	v := &vetting{h: h, allowed: []int{0, disk.Myself()}, tighten: tighten}
	if !v.folder() {
		return v.found
	}
	for _, p := range h.parts() {
		switch p.role {
		case decides:
			v.tree(p.path)
		case keeps:
			v.kept(p.path)
		case shares: // others may have theirs there
		}
	}
	return v.found
}

func (v *vetting) say(grave bool, fix, format string, args ...any) {
	v.found = append(v.found, weakness{"mode", fmt.Sprintf(format, args...), fix, grave})
}

// folder looks at the home itself, and at the link to it, if it is one. It reports whether there is a home to look
// into.
func (v *vetting) folder() bool {
	h := v.h
	link, err := os.Lstat(h.Dir)
	if err != nil {
		return false
	}
	info, err := os.Stat(h.Dir)
	if err != nil {
		v.say(true, "remove the link, or name another home", "%s is a link that leads nowhere", h.Dir)
		return false
	}
	if real, err := filepath.EvalSymlinks(h.Dir); err == nil && link.Mode()&fs.ModeSymlink != 0 {
		v.admit(info)
		if !v.owned(h.Dir, link) {
			return false
		}
		h.moved(real) // whoever changes the link from now on changes nothing
	} else {
		v.admit(info)
	}
	if !info.IsDir() {
		v.say(true, "name a folder, or a file that ends in .db, as the store", "%s is not a folder", h.Dir)
		return false
	}
	if h.Loose {
		return v.shared(info)
	}
	if owner, _ := disk.Owner(info); owner == 0 && disk.Myself() != 0 {
		v.refuse(h.Dir, owner)
		return false
	}
	return v.owned(h.Dir, info) && v.private(info)
}

// admit lets the owner of a home decide in it whom the environment names for exactly this folder.
func (v *vetting) admit(info fs.FileInfo) {
	named := os.Getenv(foreignEnv)
	if !filepath.IsAbs(named) {
		return
	}
	if same, err := os.Stat(named); err == nil && os.SameFile(same, info) {
		if owner, known := disk.Owner(info); known {
			v.allowed = append(v.allowed, owner)
		}
	}
}

// owned reports whether what is at a path belongs to somebody who may decide here.
func (v *vetting) owned(path string, info fs.FileInfo) bool {
	owner, known := disk.Owner(info)
	if !known || slices.Contains(v.allowed, owner) {
		return true
	}
	v.refuse(path, owner)
	return false
}

// refuse says whose a path is, and what to do.
func (v *vetting) refuse(path string, owner int) {
	me := userName(disk.Myself())
	fix := fmt.Sprintf("name a home of your own; or, if you trust all that is in this one, chown -R %s "+
		"%s, or set %s=%s",
		me, v.h.Dir, foreignEnv, v.absolute())
	what := fmt.Sprintf("%s belongs to %s, not to %s, and the owner of a home decides what runs in it", path,
		userName(owner), me)
	v.found = append(v.found, weakness{"owner", what, fix, true})
}

func (v *vetting) absolute() string {
	if abs, err := filepath.Abs(v.h.Dir); err == nil {
		return abs
	}
	return v.h.Dir
}

// private makes sure that a home is for its owner alone. One that others could write to may hold what they put there;
// only while it is empty there is nothing they can have said.
func (v *vetting) private(info fs.FileInfo) bool {
	dir, perm := v.h.Dir, info.Mode().Perm()
	v.open = perm&0o011 != 0
	if perm&others == 0 {
		return true
	}
	if perm&othersWrite == 0 {
		if !v.tighten || !v.h.isHome() || os.Chmod(dir, perm&^others) != nil {
			v.say(false, "chmod 700 "+dir, "others can look into %s", dir)
		}
		return true
	}
	if v.tighten && os.Chmod(dir, perm&^others) == nil {
		if names, err := os.ReadDir(dir); err == nil && len(names) == 0 {
			v.open = false
			return true
		}
		_ = os.Chmod(dir, perm) // as it was: whoever looks should see why it was refused
	}
	v.say(true, "name a folder of your own as the store; or, if it is all yours, look through it, then chmod go-w "+dir,
		"others can change what is in %s, and so decide what runs here", dir)
	return false
}

// shared looks at the folder of a store that is named by its file: others may keep things in such a folder, but not
// take its files away.
func (v *vetting) shared(info fs.FileInfo) bool {
	dir, perm := v.h.Dir, info.Mode().Perm()
	v.open = perm&0o011 != 0
	if !v.owned(dir, info) {
		return false
	}
	if perm&othersWrite != 0 && info.Mode()&fs.ModeSticky == 0 {
		v.say(true, "keep the store in a folder of its own; or chmod go-w "+dir,
			"others can change what is in %s, where key, trust and policies are", dir)
		return false
	}
	return true
}

// tree looks at something that decides, and at all below it.
func (v *vetting) tree(path string) {
	_ = filepath.WalkDir(path, func(at string, _ fs.DirEntry, err error) error {
		if err == nil {
			v.decides(at)
		}
		return nil // what cannot be looked at cannot be read either, and says so then
	})
}

// decides looks at one thing that decides.
func (v *vetting) decides(path string) {
	info, ok := v.look(path)
	if !ok || info.Mode().Perm()&othersWrite == 0 {
		return
	}
	perm := info.Mode().Perm()
	if !v.open && v.tighten && os.Chmod(path, perm&^othersWrite) == nil {
		return // nobody else could get at it in a folder that only its owner may enter
	}
	v.say(v.open, "chmod go-w "+path, "others can change %s", path)
}

// kept looks at something that is for the owner alone.
func (v *vetting) kept(path string) {
	info, ok := v.look(path)
	if !ok || info.Mode().Perm()&others == 0 {
		return
	}
	if v.tighten && v.h.mine(path) && os.Chmod(path, info.Mode().Perm()&^others) == nil {
		return
	}
	v.say(false, "chmod go-rwx "+path, "others can look into %s", path)
}

// mine reports whether a path is surely of the home: in a folder that is whatever the store is in, only the store is,
// and only if it is one. Whoever names the wrong file has it left as it is.
func (h *Home) mine(path string) bool {
	if h.Scheme == "sqlite" && h.remote == "" && slices.Contains(database(h.File), path) {
		return sqlite.IsStore(h.File)
	}
	return !h.Loose
}

// look is what a path is, of which the link and what it leads to belong to somebody who may decide here.
func (v *vetting) look(path string) (fs.FileInfo, bool) {
	link, err := os.Lstat(path)
	if err != nil || !v.owned(path, link) {
		return nil, false
	}
	if link.Mode()&fs.ModeSymlink == 0 {
		return link, true
	}
	info, err := os.Stat(path)
	return info, err == nil && v.owned(path, info)
}

// isHome reports whether a folder is a home by more than its name on the command line, so that its mode can be changed.
func (h *Home) isHome() bool {
	if filepath.Base(h.Dir) == HomeName {
		return true
	}
	for _, path := range []string{filepath.Join(h.Dir, KeyFile), h.File} {
		if _, err := os.Lstat(path); err == nil && filepath.Dir(path) == filepath.Clean(h.Dir) {
			return true
		}
	}
	return false
}

// moved follows a link to the home, for good.
func (h *Home) moved(real string) {
	if h.Scheme == "sqlite" && filepath.Dir(h.File) == filepath.Clean(h.Dir) {
		h.File = filepath.Join(real, filepath.Base(h.File))
	}
	h.Dir = real
}

// MakeHome makes the folder of a home where there is none, and looks at it again if there was: somebody may have been
// first.
func (h *Home) MakeHome() error {
	if err := os.MkdirAll(h.Dir, 0o700); err != nil {
		return fmt.Errorf("make the store's folder: %w", err)
	}
	return h.vet()
}

// userName is what people call a user.
func userName(id int) string {
	text := strconv.Itoa(id)
	if u, err := user.LookupId(text); err == nil && u.Username != "" {
		return u.Username
	}
	return "user " + text
}

// apart refuses a folder for agents' files that is the home or lies in it: agents would write the policy they are held
// to. The folders of a store named by its file count as such.
func (h *Home) apart(folder string) error {
	if h.Dir == "" {
		return nil
	}
	own := []string{h.Dir}
	if h.Loose {
		own = nil
		for _, p := range h.parts() {
			own = append(own, p.path)
		}
	}
	at, err := filepath.Abs(folder)
	if err == nil {
		at, err = filepath.EvalSymlinks(at)
	}
	if err != nil {
		return err
	}
	for {
		here, err := os.Stat(at)
		if err != nil {
			return err
		}
		for _, path := range own {
			if info, err := os.Stat(path); err == nil && os.SameFile(info, here) {
				return h.inside(folder)
			} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		above := filepath.Dir(at)
		if above == at {
			return nil
		}
		at = above
	}
}

// inside refuses a folder for agents that is in the home.
func (h *Home) inside(folder string) error {
	return perdure.WithHint(fmt.Errorf("%s is in the home %s, which agents must not touch", folder, h.Dir),
		"name a folder outside of it")
}
