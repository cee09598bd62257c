package capsule

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// A long file takes seconds to read. What a Log knows of it can be kept in two files beside: NAME.tip says how far they
// reach and what the file was like then, NAME.GEN.rows has a row for each entry, all of one length. They are hints,
// never synced, and can be thrown away. They are believed only for a file of the same size and time, or a longer one
// that has the same bytes at its beginning and where they end: whoever opens it reads what came since. Every row is
// checked when it is used, and every entry when it is read.

const (
	rowSize = 64
	// keepAbove and keepEvery are from which size of a file on rows are kept, and how many bytes may follow before they
	// are kept again.
	keepAbove = 256 << 10
	keepEvery = 64 << 10
	// probe is how many bytes are compared at the beginning of a file, and where the rows end.
	probe = 4 << 10
)

// errRows says that the kept rows are not what was written.
var errRows = errors.New("the index of the file is damaged")

// tip is how far kept rows reach.
type tip struct {
	Gen   string           `json:"gen"`
	Count int              `json:"count"`
	Whole int64            `json:"whole"`
	Mod   int64            `json:"mod"` // of the file when it ended there
	Begin perdure.Hash     `json:"begin"`
	End   perdure.Hash     `json:"end"`
	Heads []keptHead       `json:"heads"`
	Snaps []perdure.Cursor `json:"snaps"`
	Bare  int64            `json:"bare,omitempty"` // how many entries are
	Gone  gone             `json:"gone"`           // what the memory says of bodies that were dropped
	Sum   perdure.Hash     `json:"sum"`            // of all the above, under the secret of whoever keeps it
}

// keptHead is a head and where its row is.
type keptHead struct {
	Name perdure.Hash `json:"name"`
	Row  int32        `json:"row"`
}

// kept is what a Log knows of its kept rows.
type kept struct {
	bases  bases
	base   string // of the names of the files; empty: none are kept
	secret []byte // that only who keeps them knows; none: others may have written them, and depth does not rest on them
	gen    string
	file   *os.File
	count  int             // rows that are in the file and not in memory
	heads  map[short]int32 // where the rows of heads are that are not in memory
	stored int             // rows that have been written
	whole  int64           // how far they reach
}

// bases are where rows may be kept: those of whoever writes to the file, and those of who only looks, which are
// elsewhere; empty: none.
type bases struct{ writer, looker string }

// IndexedLog is OpenLog that keeps what it learns of a long file under a name in another folder, and opens the file by
// that. With a secret, what others put there is not taken for its own.
func IndexedLog(path, base string, secret []byte) (*Log, error) {
	b := bases{writer: base}
	return openLog(&Log{path: path, kept: kept{bases: b, base: base, secret: secret}})
}

// LookLog opens a file to look at, by what is kept of it under one of two names. It writes under the second alone;
// empty: nowhere.
func LookLog(path, base, aside string, secret []byte) (*Log, error) {
	b := bases{base, aside}
	return openLog(&Log{path: path, looks: true, kept: kept{bases: b, base: base, secret: secret}})
}

// Scanned is how many entries have been read to know what is in the file.
func (l *Log) Scanned() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.scanned
}

func (k *kept) close() {
	if k.file != nil {
		_ = k.file.Close() // it was only read
	}
	*k = kept{bases: k.bases, base: k.bases.writer, secret: k.secret}
}

func (k *kept) tipName() string            { return k.base + ".tip" }
func (k *kept) rowsName(gen string) string { return k.base + "." + gen + ".rows" }

func (t *tip) sum(secret []byte) (sum perdure.Hash) {
	plain := *t
	plain.Sum = perdure.Hash{}
	b, _ := json.Marshal(plain) // plain values
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write(b) // a hash takes everything
	return perdure.Hash(mac.Sum(nil))
}

// resume takes over what is kept of the file, if it is of this file.
func (l *Log) resume() {
	if l.copied {
		return
	}
	for _, base := range []string{l.bases.writer, l.bases.looker} {
		if base == "" || l.kept.count > 0 {
			continue
		}
		l.base = base
		l.resumeHere()
	}
}

// resumeExported is resume for an exported capsule that is only looked at. It is as it was, or it is read anew.
func (l *Log) resumeExported() bool {
	info, err := l.f.Stat()
	if err != nil {
		return false
	}
	if l.resume(); l.kept.count > 0 && l.whole == info.Size() {
		l.source = info
		return true
	}
	l.kept.close()
	l.begun(l.f)
	return false
}

// keepExported keeps where the entries of an exported capsule lie that was found to be good, for who looks at it next.
// One whose bodies share chunks is read anew each time.
func (l *Log) keepExported(info fs.FileInfo) {
	if l.bases.looker == "" || l.cut || info.Size() < keepAbove {
		return
	}
	o := &Log{path: l.path, looks: true, kept: kept{bases: l.bases, secret: l.secret}}
	o.begun(l.f)
	dec, err := o.begin()
	if err != nil {
		return
	}
	s := scanner{l: o, dec: dec, exported: true}
	if s.run() == nil {
		o.whole = info.Size()
		_ = o.Keep() // it is only an index
	}
}

func (l *Log) resumeHere() {
	b, err := os.ReadFile(l.tipName())
	var t tip
	if err != nil || json.Unmarshal(b, &t) != nil || t.sum(l.secret) != t.Sum || !l.matches(&t) {
		return
	}
	f, err := os.Open(l.rowsName(t.Gen))
	if err != nil {
		return
	}
	if info, err := f.Stat(); err != nil || info.Size() < int64(t.Count)*rowSize {
		_ = f.Close()
		return
	}
	l.kept = kept{bases: l.bases, base: l.base, secret: l.secret, gen: t.Gen, file: f, count: t.Count,
		stored: t.Count, whole: t.Whole, heads: map[short]int32{}}
	for _, h := range t.Heads {
		l.heads.sorted = append(l.heads.sorted, h.Name)
		l.kept.heads[short(h.Name[:16])] = h.Row
	}
	l.snaps, l.whole = t.Snaps, t.Whole
	if l.bare, l.dropped, l.counted = t.Bare, t.Gone, t.Count; len(t.Gone.Owners) == 0 {
		l.counted = 0 // earlier versions did not note who says it
	}
}

// matches reports whether a tip is of this file.
func (l *Log) matches(t *tip) bool {
	info, err := l.f.Stat()
	if err != nil || t.Count == 0 || len(t.Heads) == 0 || t.Whole < l.whole || info.Size() < t.Whole {
		return false
	}
	if info.Size() == t.Whole && info.ModTime().UnixNano() != t.Mod {
		return false // somebody wrote to it who did not append
	}
	begin, end, err := l.probe(t.Whole)
	return err == nil && begin == t.Begin && end == t.End
}

// probe is the hashes of the beginning of the file and of what is before an offset.
func (l *Log) probe(whole int64) (begin, end perdure.Hash, err error) {
	b := make([]byte, min(probe, whole))
	if _, err = l.f.ReadAt(b, 0); err != nil {
		return begin, end, err
	}
	begin = perdure.HashOf(b)
	if _, err = l.f.ReadAt(b, whole-int64(len(b))); err != nil {
		return begin, end, err
	}
	return begin, perdure.HashOf(b), nil
}

// len is how many entries there are.
func (l *Log) len() int { return l.kept.count + len(l.rows) }

// row is where entry i lies.
func (l *Log) row(i int) (row, error) {
	if i >= l.kept.count {
		return l.rows[i-l.kept.count], nil
	}
	b := make([]byte, rowSize)
	if _, err := l.file.ReadAt(b, int64(i)*rowSize); err != nil {
		return row{}, fmt.Errorf("%w: %w", errRows, err)
	}
	return parseRow(b)
}

// near is where the row of an entry is, if it is a head or one that was read or written since the rows were kept.
func (l *Log) near(name perdure.Hash) (int, bool) {
	if i, ok := l.at[short(name[:16])]; ok {
		return int(i), true
	}
	i, ok := l.kept.heads[short(name[:16])]
	return int(i), ok
}

// find is where the row of an entry is.
func (l *Log) find(name perdure.Hash) (int, bool, error) {
	if i, ok := l.near(name); ok || l.kept.count == 0 {
		return i, ok, nil
	}
	if err := l.absorb(); err != nil {
		return 0, false, err
	}
	i, ok := l.near(name)
	return i, ok, nil
}

// onTop reports whether an entry was written on a head, so that it cannot be there already.
func (l *Log) onTop(e *perdure.Entry) bool {
	return slices.ContainsFunc(e.Parents, func(p perdure.Hash) bool {
		return l.heads.has(p)
	})
}

// absorb takes all kept rows into memory. Rows that are damaged are not used: the file is read instead, by scan itself
// where that asks.
func (l *Log) absorb() error {
	if l.kept.count == 0 {
		return nil
	}
	b := make([]byte, int64(l.kept.count)*rowSize)
	_, err := io.ReadFull(io.NewSectionReader(l.file, 0, int64(len(b))), b)
	rows := make([]row, 0, l.len())
	for i := 0; err == nil && i < l.kept.count; i++ {
		var r row
		r, err = parseRow(b[i*rowSize:][:rowSize])
		rows = append(rows, r)
	}
	if err != nil && l.scanning {
		l.wrong = true
		return errRows
	}
	if err != nil {
		return l.distrust()
	}
	l.rows = append(rows, l.rows...)
	l.kept.count, l.kept.heads = 0, nil
	for i := range rows {
		l.at[short(rows[i].name[:16])] = int32(i)
	}
	return nil
}

// distrust throws the kept rows away and reads the file.
func (l *Log) distrust() error {
	had := l.bases
	_ = os.Remove(l.tipName()) // who only looks may not be able to, and reads the file each time
	l.bases = bases{}
	l.kept.close()
	l.begun(l.f)
	err := l.scan()
	l.bases, l.base = had, had.writer
	return err
}

// Keep writes down what is known of a long file, for who opens it next. It is a hint: an error does no harm.
func (l *Log) Keep() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	mine := l.bases.writer
	if l.looks {
		mine = l.bases.looker
	}
	if mine == "" || l.f == nil || l.fault != nil || l.torn || l.messy || l.copied ||
		l.whole < keepAbove ||
		l.gen != "" && l.whole-l.kept.whole < keepEvery {
		return nil
	}
	info, err := l.f.Stat()
	if err != nil || info.Size() != l.whole {
		return err
	}
	if l.base != mine {
		l.base, l.gen = mine, ""
	}
	if l.bare > 0 { // now, while the rows are known to be of the file
		if err := l.countDropped(); err != nil {
			return err
		}
	}
	t := tip{Gen: l.gen, Count: l.len(), Bare: l.bare, Gone: l.dropped, Whole: l.whole, Mod: info.ModTime().UnixNano(),
		Snaps: l.snaps}
	if t.Begin, t.End, err = l.probe(l.whole); err != nil {
		return err
	}
	for _, h := range l.heads.all() {
		i, ok := l.near(h)
		if !ok {
			return errRows
		}
		t.Heads = append(t.Heads, keptHead{h, int32(i)})
	}
	if t.Sum = t.sum(l.secret); l.gen == "" {
		return l.keepAnew(t)
	}
	if err := l.keepRows(l.gen, l.stored); err != nil {
		return err
	}
	if err := l.keepTip(&t); err != nil {
		return err
	}
	l.stored, l.kept.whole = t.Count, t.Whole
	return nil
}

// keepAnew begins with new files: the rows there are of another file.
func (l *Log) keepAnew(t tip) error {
	old, _ := filepath.Glob(l.rowsName("*"))
	t.Gen = hex.EncodeToString(binary.BigEndian.AppendUint64(nil, rand.Uint64()))
	t.Sum = t.sum(l.secret)
	if err := os.MkdirAll(filepath.Dir(l.base), disk.ModeIn(filepath.Dir(filepath.Dir(l.base)))|0o100); err != nil {
		return err
	}
	if err := l.keepRows(t.Gen, 0); err != nil {
		return err
	}
	if err := l.keepTip(&t); err != nil {
		return err
	}
	l.gen, l.stored, l.kept.whole = t.Gen, t.Count, t.Whole
	for _, name := range old {
		_ = os.Remove(name) // it does no harm
	}
	return nil
}

// keepRows writes rows from one on. Whoever else does so at the same time writes the same: what rows of one name are of
// is only appended to.
func (l *Log) keepRows(gen string, from int) error {
	f, err := os.OpenFile(l.rowsName(gen), os.O_WRONLY|os.O_CREATE, disk.ModeIn(filepath.Dir(l.base)))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for i := from; i < l.len() && err == nil; i++ {
		var r row
		if r, err = l.row(i); err == nil {
			b.Write(r.bytes())
		}
	}
	if err == nil {
		_, err = f.WriteAt(b.Bytes(), int64(from)*rowSize)
	}
	return errors.Join(err, f.Close())
}

func (l *Log) keepTip(t *tip) error {
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(l.base), ".tip.*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(disk.ModeIn(filepath.Dir(l.base))), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), l.tipName())
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the error that led here is the one to tell
	}
	return err
}

// DropIndex removes what IndexedLog kept under a name.
func DropIndex(base string) error {
	names, err := filepath.Glob(base + ".*")
	for _, name := range names {
		if e := os.Remove(name); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// bytes is a row as it is kept: name, place, due, chunks and whether it is bare, and a checksum.
func (r *row) bytes() []byte {
	b := make([]byte, 0, rowSize)
	b = append(b, r.name[:]...)
	for _, n := range []int64{r.at, r.end, int64(r.due)} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	flags := uint32(r.chunks) << 2
	if r.bare {
		flags |= 1
	}
	if r.event {
		flags |= 2
	}
	b = binary.LittleEndian.AppendUint32(b, flags)
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func parseRow(b []byte) (r row, err error) {
	if crc32.ChecksumIEEE(b[:rowSize-4]) != binary.LittleEndian.Uint32(b[rowSize-4:]) {
		return r, errRows
	}
	copy(r.name[:], b)
	r.at, r.end = int64(binary.LittleEndian.Uint64(b[32:])), int64(binary.LittleEndian.Uint64(b[40:]))
	r.due = perdure.Time(binary.LittleEndian.Uint64(b[48:]))
	flags := binary.LittleEndian.Uint32(b[56:])
	r.chunks, r.bare, r.event = int32(flags>>2), flags&1 != 0, flags&2 != 0
	return r, nil
}
