package torture

import (
	"fmt"
	"path/filepath"
)

// Kind is the kind of an operation on a disk.
type Kind int

// What a store can do to a disk.
const (
	Create   Kind = iota // a new empty file gets a name
	Mkdir                // a new folder gets a name
	Rename               // a file gets another name, atomically
	Link                 // a file gets a second name
	Remove               // a name goes
	Write                // bytes at an offset
	Truncate             // a file gets a size
	Sync                 // what was written to a file is made durable
	SyncDir              // the names in a folder are made durable
	// a sync of a file, or of a folder if no file is named, failed: what came before it is never made durable by a
	// later one
	Lost
	Mark // not an operation: the test noted something here
)

var kindNames = [...]string{"create", "mkdir", "rename", "link", "remove", "write", "truncate", "sync", "sync folder",
	"lost sync", "mark"}

func (k Kind) String() string { return kindNames[k] }

// Op is one operation on a disk.
type Op struct {
	Kind Kind
	File int    // the file, whatever its name is; zero for operations on names alone
	Path string // relative to the disk
	To   string // the new name in a Rename or Link
	Off  int64  // where a Write begins; the size a Truncate gives; the number of a Mark
	Data []byte
}

func (o Op) String() string {
	switch o.Kind {
	case Write:
		return fmt.Sprintf("write %s %d+%d", o.Path, o.Off, len(o.Data))
	case Truncate, Mark:
		return fmt.Sprintf("%s %s %d", o.Kind, o.Path, o.Off)
	case Rename, Link:
		return fmt.Sprintf("%s %s to %s", o.Kind, o.Path, o.To)
	case Create, Mkdir, Remove, Sync, SyncDir, Lost:
	}
	return o.Kind.String() + " " + o.Path
}

// named reports whether the operation changes names, and in which folder.
func (o Op) named() (folder string, ok bool) {
	switch o.Kind {
	case Create, Mkdir, Rename, Link, Remove:
		return filepath.Dir(o.Path), true
	case Write, Truncate, Sync, SyncDir, Lost, Mark:
	}
	return "", false
}

// Trace is what was done to a disk, in order. It begins with an empty disk.
type Trace []Op

// Marks is the number of the last mark in the trace, or zero.
func (t Trace) Marks() int {
	for i := len(t) - 1; i >= 0; i-- {
		if t[i].Kind == Mark {
			return int(t[i].Off)
		}
	}
	return 0
}

// Worst is the disk had the power gone at the end of the trace and taken everything with it that was not synced.
func (t Trace) Worst() Crash {
	v := newVolume()
	for _, o := range t {
		v.play(o)
	}
	return Crash{Cut: len(t), Marks: t.Marks(), Why: "nothing unsynced", Files: v.crash(nil, nil)}
}
