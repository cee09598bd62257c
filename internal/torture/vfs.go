package torture

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"unsafe"

	"modernc.org/libc"
	_ "modernc.org/sqlite" // initialises the library below
	sqlite3 "modernc.org/sqlite/lib"
)

// SQLite gets a VFS that is the system's own, except that opening, deleting, writing, truncating and syncing files on a
// Disk go through the Disk. Reading, locking and shared memory stay what they are.

// vfsFile is a file SQLite has open on a disk.
type vfsFile struct {
	d       *Disk
	file    int
	path    string
	methods uintptr // the system's
	dirSync bool    // the next sync is one of the folder as well
}

var (
	vfsDisks sync.Map // of *Disk, by its folder
	vfsFiles sync.Map // of *vfsFile, by the address of the file
)

// at is what a C pointer points to.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// fn is the Go function behind a C function pointer.
func fn[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{p})) }

// ptr is the C function pointer to a Go function that is not a closure.
func ptr[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&struct{ F F }{f})) }

type (
	openFn     = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32
	deleteFn   = func(tls *libc.TLS, vfs, name uintptr, dirSync int32) int32
	closeFn    = func(tls *libc.TLS, file uintptr) int32
	writeFn    = func(tls *libc.TLS, file, buf uintptr, n int32, off int64) int32
	truncateFn = func(tls *libc.TLS, file uintptr, size int64) int32
	syncFn     = func(tls *libc.TLS, file uintptr, flags int32) int32
)

// registerVFS makes the VFS the one SQLite uses.
var registerVFS = sync.OnceValue(func() error {
	tls := libc.NewTLS()
	defer tls.Close()
	base := sqlite3.Xsqlite3_vfs_find(tls, 0)
	p := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})))
	name, err := libc.CString("torture")
	if base == 0 || p == 0 || err != nil {
		return errors.Join(errors.New("SQLite has no VFS, or there is no memory"), err)
	}
	v := at[sqlite3.Tsqlite3_vfs](p)
	*v = *at[sqlite3.Tsqlite3_vfs](base)
	v.FpNext, v.FzName, v.FpAppData = 0, name, base
	v.FxOpen, v.FxDelete = ptr(openFn(vfsOpen)), ptr(deleteFn(vfsDelete))
	if rc := sqlite3.Xsqlite3_vfs_register(tls, p, 1); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("register a VFS: SQLite says %d", rc)
	}
	return nil
})

// vfsDisk is the disk a path is on, or nil.
func vfsDisk(path string) *Disk {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if d, ok := vfsDisks.Load(dir); ok {
			return d.(*Disk)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// vfsBase is the system's VFS below ours.
func vfsBase(vfs uintptr) (uintptr, *sqlite3.Tsqlite3_vfs) {
	base := at[sqlite3.Tsqlite3_vfs](vfs).FpAppData
	return base, at[sqlite3.Tsqlite3_vfs](base)
}

func vfsOpen(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32 {
	base, system := vfsBase(vfs)
	open := fn[openFn](system.FxOpen)
	path := libc.GoString(name)
	d := vfsDisk(path)
	if d == nil || flags&sqlite3.SQLITE_OPEN_DELETEONCLOSE != 0 {
		return open(tls, base, name, file, flags, out) // not ours, or a temporary file: nobody misses it
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := os.Lstat(path)
	fresh := err != nil && flags&sqlite3.SQLITE_OPEN_CREATE != 0
	if fresh && d.meet(Create) != None {
		at[sqlite3.Tsqlite3_file](file).FpMethods = 0
		return sqlite3.SQLITE_CANTOPEN
	}
	if rc := open(tls, base, name, file, flags, out); rc != sqlite3.SQLITE_OK {
		return rc
	}
	rel := d.rel(path)
	if fresh {
		d.create(rel)
	}
	f := at[sqlite3.Tsqlite3_file](file)
	journal := flags&(sqlite3.SQLITE_OPEN_MAIN_JOURNAL|sqlite3.SQLITE_OPEN_SUPER_JOURNAL|sqlite3.SQLITE_OPEN_WAL) != 0
	vfsFiles.Store(file, &vfsFile{d: d, file: d.files[rel], path: rel, methods: f.FpMethods, dirSync: journal &&
		flags&sqlite3.SQLITE_OPEN_CREATE != 0})
	f.FpMethods = vfsMethods(tls, f.FpMethods)
	return sqlite3.SQLITE_OK
}

var (
	vfsWrapped   = map[uintptr]uintptr{} // ours, by the system's
	vfsWrappedMu sync.Mutex
)

// vfsMethods is a copy of the system's methods with ours in it. There are few: one for each way of locking.
func vfsMethods(tls *libc.TLS, system uintptr) uintptr {
	vfsWrappedMu.Lock()
	defer vfsWrappedMu.Unlock()
	if p, ok := vfsWrapped[system]; ok {
		return p
	}
	p := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_io_methods{})))
	m := at[sqlite3.Tsqlite3_io_methods](p)
	*m = *at[sqlite3.Tsqlite3_io_methods](system)
	m.FxClose, m.FxWrite, m.FxTruncate, m.FxSync = ptr(closeFn(vfsClose)), ptr(writeFn(vfsWrite)),
		ptr(truncateFn(vfsTruncate)), ptr(syncFn(vfsSync))
	vfsWrapped[system] = p
	return p
}

// vfsEnter finds an open file and locks its disk.
func vfsEnter(file uintptr) (*vfsFile, *sqlite3.Tsqlite3_io_methods) {
	v, _ := vfsFiles.Load(file)
	f := v.(*vfsFile)
	f.d.mu.Lock()
	return f, at[sqlite3.Tsqlite3_io_methods](f.methods)
}

func vfsClose(tls *libc.TLS, file uintptr) int32 {
	f, system := vfsEnter(file)
	defer f.d.mu.Unlock()
	vfsFiles.Delete(file)
	return fn[closeFn](system.FxClose)(tls, file)
}

func vfsWrite(tls *libc.TLS, file, buf uintptr, n int32, off int64) int32 {
	f, system := vfsEnter(file)
	defer f.d.mu.Unlock()
	flaw := f.d.meet(Write)
	switch flaw {
	case Broken:
		return sqlite3.SQLITE_IOERR_WRITE
	case Full:
		return sqlite3.SQLITE_FULL
	case Short:
		n /= 2
	case None, FailedSync:
	}
	if rc := fn[writeFn](system.FxWrite)(tls, file, buf, n, off); rc != sqlite3.SQLITE_OK {
		return rc
	}
	f.d.record(Op{Kind: Write, File: f.file, Path: f.path, Off: off, Data: bytes.Clone(unsafe.Slice(at[byte](buf), n))})
	if flaw == Short {
		return sqlite3.SQLITE_FULL
	}
	return sqlite3.SQLITE_OK
}

func vfsTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	f, system := vfsEnter(file)
	defer f.d.mu.Unlock()
	if f.d.meet(Truncate) != None {
		return sqlite3.SQLITE_IOERR_TRUNCATE
	}
	rc := fn[truncateFn](system.FxTruncate)(tls, file, size)
	if rc == sqlite3.SQLITE_OK {
		f.d.record(Op{Kind: Truncate, File: f.file, Path: f.path, Off: size})
	}
	return rc
}

func vfsSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	f, system := vfsEnter(file)
	defer f.d.mu.Unlock()
	if f.d.meet(Sync) != None {
		f.d.record(Op{Kind: Lost, File: f.file, Path: f.path})
		return sqlite3.SQLITE_IOERR_FSYNC
	}
	if !f.d.Quick {
		if rc := fn[syncFn](system.FxSync)(tls, file, flags); rc != sqlite3.SQLITE_OK {
			return rc
		}
	}
	f.d.record(Op{Kind: Sync, File: f.file, Path: f.path})
	if f.dirSync {
		f.dirSync = false
		f.d.record(Op{Kind: SyncDir, Path: filepath.Dir(f.path)})
	}
	return sqlite3.SQLITE_OK
}

func vfsDelete(tls *libc.TLS, vfs, name uintptr, dirSync int32) int32 {
	base, system := vfsBase(vfs)
	path := libc.GoString(name)
	d := vfsDisk(path)
	if d == nil {
		return fn[deleteFn](system.FxDelete)(tls, base, name, dirSync)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.meet(Remove) != None {
		return sqlite3.SQLITE_IOERR_DELETE
	}
	rc := fn[deleteFn](system.FxDelete)(tls, base, name, dirSync)
	if rc != sqlite3.SQLITE_OK {
		return rc
	}
	rel := d.rel(path)
	d.record(Op{Kind: Remove, Path: rel})
	if dirSync != 0 {
		d.record(Op{Kind: SyncDir, Path: filepath.Dir(rel)})
	}
	return rc
}
