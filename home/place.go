package home

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
)

// Locate says where the store is, and refuses a home in which somebody else decides.
func (h *Home) Locate() error {
	if err := h.Find(); err != nil {
		return err
	}
	if err := h.vet(); err != nil {
		return err
	}
	if h.Acts {
		return h.Consent()
	}
	return nil
}

// acting is h for a command that signs or runs something.
func (h *Home) acting() *Home {
	h.Acts = true
	return h
}

// Find says where the store is, without touching it, and whether there is a home yet.
func (h *Home) Find() error {
	if err := h.place(); err != nil {
		return err
	}
	if !h.located { // later this command may have begun one
		h.located, h.Fresh, h.judged = true, len(h.has()) == 0, nil
	}
	return nil
}

// Unnamed reports whether nothing says where the store is, and none is here or above: it would be in the user's data
// folder.
func (h *Home) Unnamed() bool {
	return cmp.Or(h.URL, os.Getenv(StoreEnv)) == "" && h.place() == nil && !h.Found
}

// Anywhere is the store as a process that starts anywhere finds it; empty: as every process does.
func (h *Home) Anywhere() (string, error) {
	url := cmp.Or(h.URL, os.Getenv(StoreEnv))
	switch {
	case url == "" && !h.Found:
		return "", nil
	case url == "":
		return filepath.Abs(h.Dir)
	}
	if shown := Shown(url); shown != url || h.remote != "" {
		return shown, nil
	}
	scheme, path := schemeOf(url)
	switch {
	case scheme == "":
		return filepath.Abs(url)
	case path == "": // in memory
		return url, nil
	}
	path, options, asked := strings.Cut(path, "?")
	path, err := filepath.Abs(path)
	if asked {
		path += "?" + options
	}
	return scheme + ":" + path, err
}

// schemeOf is what kind of store a text names, and where; "": it is a path.
func schemeOf(url string) (scheme, path string) {
	scheme, path, found := strings.Cut(url, ":")
	if !found || strings.ContainsAny(scheme, `/\.`) || len(scheme) == 1 { // a drive is no scheme
		return "", url
	}
	return scheme, path
}

// Beneath is the home that a process which starts anywhere must find in the environment beside the store that Anywhere
// names; empty: it finds that by itself.
func (h *Home) Beneath() (string, error) {
	if h.own == "" || h.Dir == "" {
		return "", nil
	}
	user, err := userHome()
	if err == nil && user == h.Dir {
		return "", nil
	}
	if h.Loose {
		return filepath.Abs(h.own)
	}
	return filepath.Abs(h.Dir)
}

// place says where the store is.
func (h *Home) place() error {
	h.Found, h.Loose, h.remote, h.own, h.options = false, false, "", "", sqlite.Options{}
	url := h.URL
	if url == "" {
		url = os.Getenv(StoreEnv)
	}
	if url == "" {
		dir, found, err := defaultHome()
		if err != nil {
			return err
		}
		h.Found = found
		h.Scheme, h.Dir, h.File = "sqlite", dir, filepath.Join(dir, StoreFile)
		return nil
	}
	scheme, path := schemeOf(url)
	switch {
	case scheme == "":
		scheme = "sqlite"
	case scheme == "mem" && path == "":
		h.Scheme, h.Dir, h.File = "mem", "", ""
		return nil
	case scheme == "dir" && path != "":
		h.Scheme, h.File = scheme, path
		return h.beneath() // the folder is shared with others: no place for a key
	case isEngine(scheme):
		return h.engine(url)
	case scheme != "sqlite" || path == "":
		return perdure.Invalid(
			fmt.Errorf("store %q: want mem:, sqlite:PATH, dir:PATH, postgres://…, nats://…, a file or a folder", url),
		)
	default:
		var err error
		if path, h.options, err = sqlite.ParseName(path); err != nil {
			return perdure.Invalid(fmt.Errorf("store sqlite:%w; a file with a question mark in its name goes without "+
				"sqlite:", err))
		}
		if path == "" {
			return perdure.Invalid(fmt.Errorf("store %q: want a path before the question mark", url))
		}
	}
	h.Scheme, h.Dir, h.File = scheme, path, filepath.Join(path, StoreFile)
	if info, err := os.Stat(path); err == nil && !info.IsDir() || err != nil &&
		filepath.Ext(path) == filepath.Ext(StoreFile) {
		h.Dir, h.File, h.Loose = filepath.Dir(path), path, true
	}
	return nil
}

// beneath is the home of a store that is no place for key, trust and policies: the one that would have been used
// without it, which the environment names, or which is here, above or the user's.
func (h *Home) beneath() (err error) {
	if named := os.Getenv(StoreEnv); h.URL != "" && named != "" && named != h.URL {
		under := &Home{URL: named}
		if err := under.place(); err != nil {
			return fmt.Errorf("%s: %w", StoreEnv, err)
		}
		if under.Dir != "" { // one in memory has no home
			h.Dir, h.Found, h.Loose, h.own = under.Dir, under.Found, under.Loose, under.own
			if under.Scheme == "sqlite" {
				h.own = under.File
			}
			return nil
		}
	}
	h.Dir, h.Found, err = defaultHome()
	h.own = filepath.Join(h.Dir, StoreFile)
	return err
}

// defaultHome is .perdure here or in a folder above, which is found, else the user's data folder. What is called so and
// is no folder is not passed over: what is meant to be here would be made, or looked for, elsewhere.
func defaultHome() (dir string, found bool, err error) {
	at, err := os.Getwd()
	if err != nil {
		return "", false, err
	}
	for {
		dir := filepath.Join(at, HomeName)
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, true, nil
		}
		if _, err := os.Lstat(dir); err == nil {
			return "", false, perdure.WithHint(perdure.Invalid(fmt.Errorf("%s is in the way: a home is a folder, and "+
				"that is none", view.InLine(dir))), "give it another name, or name a store with --store or "+StoreEnv)
		}
		above := filepath.Dir(at)
		if above == at {
			break
		}
		at = above
	}
	dir, err = userHome()
	return dir, false, err
}

// userHome is the user's data folder.
func userHome() (string, error) {
	if data := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "perdure"), nil
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the user's data folder: %w: name a store in %s", err, StoreEnv)
	}
	return filepath.Join(user, ".local", "share", "perdure"), nil
}
