package torture

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/perdure/perdure/internal/disk"
)

var _ disk.Disk = (*Disk)(nil)

// Disk is a folder whose every change is recorded, and can be made to fail: those SQLite makes and those made through
// package disk. It may be used from many goroutines.
type Disk struct {
	// Forget makes a disk take the syncs it names without doing them and without saying so, as a store would that left
	// them out.
	Forget func(Op) bool
	// Quick leaves the real syncs out: the record is the same, and nobody pulls the plug of a test.
	Quick bool

	root string
	undo func()

	mu    sync.Mutex
	trace Trace
	files map[string]int // by name, as it is now
	last  int            // the file made last
	marks int
	fault Fault
	count int // operations since the fault was set
	fired int // how many failed
}

// NewDisk returns a disk over an empty folder. Close it when nothing uses it any more.
func NewDisk(folder string) (*Disk, error) {
	root, err := filepath.EvalSymlinks(folder) // as SQLite does
	if err != nil {
		return nil, err
	}
	d := &Disk{root: root, files: map[string]int{}}
	if err := registerVFS(); err != nil {
		return nil, err
	}
	vfsDisks.Store(root, d)
	d.undo = disk.Replace(root, d)
	return d, nil
}

// Close makes the folder an ordinary one again.
func (d *Disk) Close() {
	vfsDisks.Delete(d.root)
	d.undo()
}

// Root is the folder.
func (d *Disk) Root() string { return d.root }

// Trace is what was done so far.
func (d *Disk) Trace() Trace {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.trace)
}

// Mark notes a place in the trace and returns its number: the first is 1.
func (d *Disk) Mark() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.marks++
	d.trace = append(d.trace, Op{Kind: Mark, Off: int64(d.marks)})
	return d.marks
}

// SetFault makes an operation from now on fail, or none.
func (d *Disk) SetFault(f Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault, d.count, d.fired = f, 0, 0
}

// Fired is how many operations failed since the fault was set, and of how many.
func (d *Disk) Fired() (failed, of int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fired, d.count
}

// meet counts an operation and says how it fails, if it does. The lock is held.
func (d *Disk) meet(k Kind) Flaw {
	d.count++
	f := d.fault
	if f.At == 0 || d.count < f.At || (d.count > f.At && !f.Sticky) || !f.Flaw.strikes(k) {
		return None
	}
	d.fired++
	return f.Flaw
}

// record adds an operation to the trace. The lock is held.
func (d *Disk) record(o Op) {
	if d.Forget != nil && d.Forget(o) {
		return
	}
	d.trace = append(d.trace, o)
	switch o.Kind {
	case Create:
		d.files[o.Path] = o.File
	case Link:
		d.files[o.To] = d.files[o.Path]
	case Rename:
		d.files[o.To] = d.files[o.Path]
		delete(d.files, o.Path)
	case Remove:
		delete(d.files, o.Path)
	case Mkdir, Write, Truncate, Sync, SyncDir, Lost, Mark:
	}
}

// create gives a new file a name. The lock is held.
func (d *Disk) create(path string) int {
	d.last++
	d.record(Op{Kind: Create, File: d.last, Path: path})
	return d.last
}

// rel is a path as the trace has it.
func (d *Disk) rel(path string) string {
	rel, err := filepath.Rel(d.root, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		panic(fmt.Sprintf("%s is not on the disk %s", path, d.root))
	}
	return rel
}

// Mkdir implements disk.Disk.
func (d *Disk) Mkdir(path string, do func() error) error {
	return d.do(Op{Kind: Mkdir, Path: d.rel(path)}, do)
}

// Open implements disk.Disk.
func (d *Disk) Open(path string, flag int, open func() (*os.File, error)) (disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	rel := d.rel(path)
	_, err := os.Lstat(path)
	fresh := err != nil && flag&os.O_CREATE != 0
	if fresh {
		if flaw := d.meet(Create); flaw != None {
			return nil, &os.PathError{Op: "open", Path: path, Err: flaw.Err()}
		}
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	if fresh {
		d.create(rel)
	}
	return &file{File: f, d: d, id: d.files[rel], path: rel, appends: flag&os.O_APPEND != 0}, nil
}

// Sync implements disk.Disk.
func (d *Disk) Sync(path string, do func() error) error {
	o := Op{Kind: Sync, Path: d.rel(path)}
	if info, err := os.Stat(path); err != nil {
		return err
	} else if info.IsDir() {
		o.Kind = SyncDir
	}
	return d.do(o, do)
}

// Link implements disk.Disk.
func (d *Disk) Link(path, to string, do func() error) error {
	return d.do(Op{Kind: Link, Path: d.rel(path), To: d.rel(to)}, do)
}

// Rename implements disk.Disk.
func (d *Disk) Rename(path, to string, do func() error) error {
	return d.do(Op{Kind: Rename, Path: d.rel(path), To: d.rel(to)}, do)
}

// Remove implements disk.Disk.
func (d *Disk) Remove(path string, do func() error) error {
	return d.do(Op{Kind: Remove, Path: d.rel(path)}, do)
}

// do does an operation on a name, or a sync: real changes the real disk. A fault comes before it.
func (d *Disk) do(o Op, real func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	o.File = d.files[o.Path]
	return d.change(o, func([]byte) error { return real() })
}

// change does an operation. A fault comes before it, and a short write writes half. The lock is held.
func (d *Disk) change(o Op, real func(data []byte) error) error {
	flaw := d.meet(o.Kind)
	switch {
	case flaw == Short:
		o.Data = o.Data[:len(o.Data)/2]
	case flaw != None && (o.Kind == Sync || o.Kind == SyncDir):
		d.record(Op{Kind: Lost, File: o.File, Path: o.Path})
		return flaw.Err()
	case flaw != None:
		return flaw.Err()
	case d.Quick && (o.Kind == Sync || o.Kind == SyncDir):
		d.record(o)
		return nil
	}
	if err := real(o.Data); err != nil {
		return err
	}
	o.Data = bytes.Clone(o.Data)
	d.record(o)
	if flaw == Short {
		return flaw.Err()
	}
	return nil
}

// file is a file on a disk, whatever its name has become since it was opened.
type file struct {
	*os.File
	d       *Disk
	id      int
	path    string
	appends bool
}

func (f *file) change(o Op, real func(data []byte) error) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	o.File, o.Path = f.id, f.path
	return f.d.change(o, real)
}

// Write implements disk.File.
func (f *file) Write(b []byte) (n int, err error) {
	from := io.SeekCurrent
	if f.appends {
		from = io.SeekEnd
	}
	off, err := f.File.Seek(0, from)
	if err != nil {
		return 0, err
	}
	return f.write(b, off, f.File.Write)
}

// WriteAt implements disk.File.
func (f *file) WriteAt(b []byte, off int64) (n int, err error) {
	return f.write(b, off, func(b []byte) (int, error) { return f.File.WriteAt(b, off) })
}

func (f *file) write(b []byte, off int64, real func([]byte) (int, error)) (n int, err error) {
	err = f.change(Op{Kind: Write, Off: off, Data: b}, func(b []byte) (err error) { n, err = real(b); return err })
	return n, err
}

// ReadFrom hides that of *os.File, which writes on its own.
func (f *file) ReadFrom(r io.Reader) (int64, error) { return io.Copy(struct{ io.Writer }{f}, r) }

// Truncate implements disk.File.
func (f *file) Truncate(size int64) error {
	return f.change(Op{Kind: Truncate, Off: size}, func([]byte) error { return f.File.Truncate(size) })
}

// Sync implements disk.File.
func (f *file) Sync() error {
	return f.change(Op{Kind: Sync}, func([]byte) error { return f.File.Sync() })
}
