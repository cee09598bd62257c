package torture

import (
	"path/filepath"
	"slices"
)

// folder stands for the file of a name that is a folder.
const folder = -1

// volume is a disk while a trace is played: what is durable, and what has been done since and may or may not have
// reached it.
type volume struct {
	data  map[int][]byte // durable content, by file
	names map[string]int // durable names
	loose []Op           // writes and truncations not durable, in order
	moves []Op           // operations on names not durable, in order
}

func newVolume() *volume { return &volume{data: map[int][]byte{}, names: map[string]int{}} }

// play does one operation.
func (v *volume) play(o Op) {
	switch o.Kind {
	case Create, Mkdir, Rename, Link, Remove:
		v.moves = append(v.moves, o)
	case Write, Truncate:
		v.loose = append(v.loose, o)
	case Sync:
		v.loose = slices.DeleteFunc(v.loose, func(w Op) bool {
			if w.File == o.File {
				v.data[w.File] = w.apply(v.data[w.File])
			}
			return w.File == o.File
		})
	case Lost:
		v.loose = slices.DeleteFunc(v.loose, func(w Op) bool { return w.File == o.File && o.File != 0 })
		v.moves = slices.DeleteFunc(v.moves, func(m Op) bool {
			in, _ := m.named()
			return in == o.Path && o.File == 0
		})
	case SyncDir:
		v.moves = slices.DeleteFunc(v.moves, func(m Op) bool {
			in, _ := m.named()
			if in == o.Path {
				m.move(v.names)
			}
			return in == o.Path
		})
	case Mark:
	}
}

// apply is the content of a file after a write or truncation. It may change b.
func (o Op) apply(b []byte) []byte {
	end := o.Off + int64(len(o.Data))
	if int64(len(b)) < end {
		b = append(b, make([]byte, end-int64(len(b)))...)
	}
	if o.Kind == Truncate {
		return b[:o.Off]
	}
	copy(b[o.Off:], o.Data)
	return b
}

// move changes names.
func (o Op) move(names map[string]int) {
	switch o.Kind {
	case Create:
		names[o.Path] = o.File
	case Mkdir:
		names[o.Path] = folder
	case Rename, Link:
		if f, ok := names[o.Path]; ok {
			names[o.To] = f
			if o.Kind == Rename {
				delete(names, o.Path)
			}
		}
	case Remove:
		delete(names, o.Path)
	case Write, Truncate, Sync, SyncDir, Lost, Mark:
	}
}

// crash is the content of the disk if of all that is not durable just these writes and moves had reached it. Folders
// have nil content.
func (v *volume) crash(writes, moves []Op) map[string][]byte {
	names := make(map[string]int, len(v.names))
	for n, f := range v.names {
		names[n] = f
	}
	for _, m := range moves {
		m.move(names)
	}
	touched := map[int][]byte{}
	for _, w := range writes {
		b, ok := touched[w.File]
		if !ok {
			b = slices.Clone(v.data[w.File])
		}
		touched[w.File] = w.apply(b)
	}
	image := make(map[string][]byte, len(names))
	for name, f := range names {
		if !reachable(names, name) {
			continue
		}
		b, ok := touched[f]
		if !ok {
			b = v.data[f]
		}
		if f != folder && b == nil {
			b = []byte{}
		}
		image[name] = b
	}
	return image
}

// reachable reports whether every folder above a name has its own name.
func reachable(names map[string]int, name string) bool {
	for d := filepath.Dir(name); d != "."; d = filepath.Dir(d) {
		if f, ok := names[d]; !ok || f != folder {
			return false
		}
	}
	return true
}
