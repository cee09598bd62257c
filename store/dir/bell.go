package dir

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/perdure/perdure/internal/disk"
)

const (
	bellName = "bell"
	// maxBell is the size at which the bell begins anew.
	maxBell = 1 << 16
)

// bell is a file that grows by a byte whenever a process has written to an agent, so that who watches need not look at
// every file again and again. It tells nothing but when to look.
type bell struct {
	path string

	mu sync.Mutex
	f  disk.File
}

// ring tells those who watch. If it cannot, they notice later.
func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.f == nil {
		var err error
		if b.f, err = disk.OpenPlain(b.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND,
			disk.ModeIn(filepath.Dir(b.path))); err != nil {
			return
		}
	}
	if _, err := b.f.Write([]byte{0}); err != nil {
		return
	}
	if info, err := b.f.Stat(); err == nil && info.Size() >= maxBell {
		_ = b.f.Truncate(0)
	}
}

func (b *bell) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.f == nil {
		return nil
	}
	f := b.f
	b.f = nil
	return f.Close()
}

// glance is what tells whether it is time to look: the bell, and the folder, which changes when files are put into it
// or replaced.
type glance struct{ folder, bell fs.FileInfo }

func (s *Store) glance() glance {
	folder, _ := os.Stat(s.dir) // a look says what is wrong
	bell, _ := os.Stat(s.bell.path)
	return glance{folder, bell}
}

// same reports whether nothing has happened between two glances.
func (g glance) same(now glance) bool { return same(g.folder, now.folder) && same(g.bell, now.bell) }

func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}
