// Package alive tells the processes of one machine which of them still live.
//
// A process that wants to be known keeps a file of its name in a folder, and the lock of that file. The system takes
// the lock away when the process ends, however it ends: whoever can take the lock knows that nobody of that name lives.
package alive

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/disk"
)

// forget is how long the file of a process that has ended is kept: longer than anything it held could count.
const forget = time.Hour

// Folder is where processes make themselves known.
type Folder struct {
	Path string

	mu   sync.Mutex
	held map[string]*os.File
	kept map[string]bool // whose files stay
}

// Hold makes a name known until Close, or the end of the process. Doing it again changes nothing. The name must be one
// that nobody had before.
func (f *Folder) Hold(name []byte) error {
	id := hex.EncodeToString(name)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held[id] != nil {
		return nil
	}
	if err := os.MkdirAll(f.Path, 0o700); err != nil {
		return err
	}
	f.sweep()
	// Nobody asks for the name before this returns, so it does not matter that the file is there a moment before its
	// lock.
	file, err := os.OpenFile(f.file(id), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := disk.Lock(file, false); err != nil {
		return errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	if f.held == nil {
		f.held = map[string]*os.File{}
	}
	f.held[id] = file
	return nil
}

// Dead reports whether the process of a name is known to have ended. Of a name nobody has made known it is not known.
func (f *Folder) Dead(name []byte) bool {
	id := hex.EncodeToString(name)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held[id] == nil && unlocked(f.file(id))
}

// Lives reports whether the process of a name lives. Of a name nobody has made known, or a process that ended long ago,
// it is not known.
func (f *Folder) Lives(name []byte) (lives, known bool) {
	dead := f.Dead(name)
	_, err := os.Lstat(f.file(hex.EncodeToString(name)))
	return !dead, dead || err == nil
}

// Keep has the file of a name stay when the name is let go, for as long as that of a process that was killed: it left
// something behind that others wait for while it may live.
func (f *Folder) Keep(name []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept == nil {
		f.kept = map[string]bool{}
	}
	f.kept[hex.EncodeToString(name)] = true
}

// Close lets every name go.
func (f *Folder) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for id, file := range f.held {
		errs = append(errs, file.Close())
		if f.kept[id] {
			continue
		}
		if err := os.Remove(f.file(id)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	f.held, f.kept = nil, nil
	_ = os.Remove(f.Path) // unless others are there
	return errors.Join(errs...)
}

func (f *Folder) file(id string) string { return filepath.Join(f.Path, id) }

// unlocked reports whether a file is there and nobody has its lock.
func unlocked(path string) bool {
	file, err := disk.OpenPlain(path, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	free := disk.Lock(file, false) == nil
	return file.Close() == nil && free
}

// sweep removes the files of processes that ended long ago.
func (f *Folder) sweep() {
	files, err := os.ReadDir(f.Path)
	if err != nil {
		return // what is left there does no harm
	}
	for _, e := range files {
		info, err := e.Info()
		if err == nil && time.Since(info.ModTime()) > forget && unlocked(f.file(e.Name())) {
			_ = os.Remove(f.file(e.Name()))
		}
	}
}
