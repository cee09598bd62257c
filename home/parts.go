package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/perdure/perdure/workspace"
	"github.com/perdure/perdure/workspace/files"
)

// lockOfStore is a file that beside names, of a store elsewhere that this home was used with.
var lockOfStore = regexp.MustCompile(`^.+-(node|chat|file-[0-9a-f]{16})$`)

// Knows reports whether a name is one that a home has.
func (h *Home) Knows(name string) bool {
	if name == ".gitignore" || name == ralphDir || strings.HasPrefix(name, files.StateFile) || h.Scheme != "sqlite" ||
		name == stateRoot && h.isUserHome() || strings.HasPrefix(name, oldKeyFile) || name == nextKeyFile ||
		lockOfStore.MatchString(name) {
		return true
	}
	return slices.ContainsFunc(h.parts(), func(p part) bool {
		return p.path == filepath.Join(h.Dir, name) || strings.HasPrefix(name, filepath.Base(h.File)) ||
			strings.HasPrefix(name, witnessFile+".damaged-")
	})
}

// isUserHome reports whether the home is also that of its user, as that of a service is: it has the user's state, too.
func (h *Home) isUserHome() bool {
	dir, err := os.UserHomeDir()
	return err == nil && filepath.Clean(dir) == h.Dir
}

// role is what a part of a home is for.
type role int

const (
	decides role = iota // whoever writes it decides what runs here
	keeps               // for the owner alone
	shares              // a folder of agents, into which others put files
)

// part is a file of a home, or a folder with all that is in it.
type part struct {
	path string
	role role
}

// keepsakes are the parts that are nowhere else: without them a copy of the store is not the home it was.
var keepsakes = []string{
	KeyFile, TrustFile, NodeFileName, PolicyDir, schemaDir, scriptDir, tokenDir, vaultDir, peopleDir,
}

// Keepsakes are the paths of those that are there, to be kept with a copy of the store.
func (h *Home) Keepsakes() (paths []string) {
	for _, p := range h.parts() {
		if _, err := os.Lstat(p.path); err == nil && slices.Contains(keepsakes, filepath.Base(p.path)) {
			paths = append(paths, p.path)
		}
	}
	return paths
}

// parts are all a home consists of, there or not. It is the one list: agents are kept out of these, their owners and
// modes are looked at, doctor knows them, and a home that holds any of them before its key is made was begun by
// somebody else.
func (h *Home) parts() []part {
	if h.Dir == "" {
		return nil
	}
	var all []part
	add := func(r role, paths ...string) {
		for _, p := range paths {
			all = append(all, part{p, r})
		}
	}
	for _, name := range []string{KeyFile, TrustFile, NodeFileName, PolicyDir, schemaDir, scriptDir, tokenDir} {
		add(decides, filepath.Join(h.Dir, name))
	}
	add(keeps, filepath.Join(h.Dir, vaultDir), filepath.Join(h.Dir, peopleDir), filepath.Join(h.Dir, notifyDir),
		filepath.Join(h.Dir, linkDir), filepath.Join(h.Dir, SocketFile), filepath.Join(h.Dir, placesFile),
		filepath.Join(h.Dir, TrustFile+".lock"), h.attendFile())
	add(keeps, database(filepath.Join(h.Dir, witnessFile))...)
	add(keeps, database(filepath.Join(h.Dir, requestsFile))...)
	add(keeps, append(database(h.indexFile()), h.useFile(), h.indexFile()+workspace.LockMark)...)
	add(keeps, database(filepath.Join(h.Dir, dealingsFile))...)
	add(keeps, filepath.Join(h.Dir, sessionsDir), filepath.Join(h.Dir, spoolDir), filepath.Join(h.Dir, looksDir))
	store := h.File
	if h.Scheme == "dir" {
		add(shares, h.File)
	}
	if h.Scheme == "dir" || h.remote != "" {
		store = h.own
	}
	add(keeps, database(store)...)
	add(keeps, store+"-blobs", store+"-nodes", store+".lock")
	return all
}

// peopleDir is where the keys of people are whom a home signs for, each named in node.yaml.
const peopleDir = "people"

// database are the files of an SQLite database.
func database(path string) []string {
	return []string{path, path + "-wal", path + "-shm", path + "-journal"}
}

// has are the names of the parts that are there, of the home's own.
func (h *Home) has() []string {
	var names []string
	for _, p := range h.parts() {
		if _, err := os.Lstat(p.path); p.role != shares && !errors.Is(err, fs.ErrNotExist) {
			names = append(names, filepath.Base(p.path))
		}
	}
	return names
}
