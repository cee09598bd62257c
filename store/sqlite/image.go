package sqlite

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
)

// image is a store's file as SQLite lays it out, page by page, read without SQLite: that gives up at the first page
// that is damaged, and with an inner page at all below it. Every entry proves itself by its hash, so whatever looks
// like a row may be tried. See https://www.sqlite.org/fileformat.html.
type image struct {
	file, log *os.File
	pages     int64
	newest    map[int64]int64 // where in the log the page of a number is, as last committed
	beyond    []int64         // pages in the log after its first fault, which SQLite does not read
	later     map[int64]int64 // the same as newest, for those
}

const (
	pageSize    = 4096 // of every store
	logHead     = 32
	frameHead   = 24
	leafTable   = 0x0d
	leafIndex   = 0x0a
	inTable     = pageSize - 35             // the longest record that a leaf of a table holds all of
	inIndex     = (pageSize-12)*64/255 - 23 // the same for an index
	leastInPage = (pageSize-12)*32/255 - 23 // of a longer one at least so much is in the page
	perOverflow = pageSize - 4
	maxRecord   = 64 << 20 // no row is longer
)

// openImage opens the file of a store and its log. While it is open the process holds no locks on the file that it
// would not lose when it is closed: close every connection first.
func openImage(path string) (*image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	m := &image{file: f, newest: map[int64]int64{}, later: map[int64]int64{}}
	info, err := f.Stat()
	if err == nil {
		m.pages = info.Size() / pageSize
		m.log, err = os.Open(path + "-wal")
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		} else if err == nil {
			err = m.readLog()
		}
	}
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

func (m *image) close() error {
	err := m.file.Close()
	if m.log != nil {
		err = errors.Join(err, m.log.Close())
	}
	return err
}

// readLog finds the pages in the log: up to the last commit before the first fault as SQLite does, and those after it.
func (m *image) readLog() error {
	head := make([]byte, logHead)
	if _, err := m.log.ReadAt(head, 0); err == io.EOF {
		return nil
	} else if err != nil {
		return err
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if head[3]&1 == 1 {
		order = binary.BigEndian
	}
	a, b := checksum(order, 0, 0, head[:24])
	good := a == binary.BigEndian.Uint32(head[24:]) && b == binary.BigEndian.Uint32(head[28:])
	salt := string(head[16:24])
	pending := map[int64]int64{}
	frame := make([]byte, frameHead+pageSize)
	for at := int64(logHead); ; at += int64(len(frame)) {
		if _, err := m.log.ReadAt(frame, at); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if at == logHead && !good {
			salt = string(frame[8:16])
		}
		if string(frame[8:16]) != salt {
			return nil // of an earlier round: it has been written to the file since
		}
		if good {
			a, b = checksum(order, a, b, frame[:8])
			a, b = checksum(order, a, b, frame[frameHead:])
			good = a == binary.BigEndian.Uint32(frame[16:]) && b == binary.BigEndian.Uint32(frame[20:])
		}
		page := int64(binary.BigEndian.Uint32(frame))
		if !good {
			m.beyond, m.later[page] = append(m.beyond, at+frameHead), at+frameHead
			continue
		}
		if pending[page] = at + frameHead; binary.BigEndian.Uint32(frame[4:]) != 0 {
			for n, at := range pending {
				m.newest[n] = at
				m.pages = max(m.pages, n)
			}
			clear(pending)
		}
	}
}

func checksum(order binary.ByteOrder, a, b uint32, p []byte) (uint32, uint32) {
	for ; len(p) >= 8; p = p[8:] {
		a += order.Uint32(p) + b
		b += order.Uint32(p[4:]) + a
	}
	return a, b
}

// page reads the page of a number, counted from 1, as last committed.
func (m *image) page(n int64) ([]byte, error) {
	if at, ok := m.newest[n]; ok {
		return m.logged(at)
	}
	b := make([]byte, pageSize)
	_, err := m.file.ReadAt(b, (n-1)*pageSize)
	return b, err
}

// latest is page, and takes what is after the first fault of the log for good.
func (m *image) latest(n int64) ([]byte, error) {
	if at, ok := m.later[n]; ok {
		return m.logged(at)
	}
	return m.page(n)
}

func (m *image) logged(at int64) ([]byte, error) {
	b := make([]byte, pageSize)
	_, err := m.log.ReadAt(b, at)
	return b, err
}

// scan calls f with every record in a leaf of a table or an index; the rowid is zero in an index. Pages that cannot be
// read, and cells that make no sense, are passed over. What is in the log after its first fault comes last: it is
// newest.
func (m *image) scan(f func(rowid int64, record []value)) {
	for n := int64(1); n <= m.pages; n++ {
		if b, err := m.page(n); err == nil {
			m.cells(b, n == 1, m.page, f)
		}
	}
	for _, at := range m.beyond {
		if b, err := m.logged(at); err == nil {
			m.cells(b, false, m.latest, f)
		}
	}
}

// cells calls f with every record of a page. Records go on in the pages that page finds.
func (m *image) cells(b []byte, first bool, page func(int64) ([]byte, error), f func(rowid int64, record []value)) {
	head := 0
	if first {
		head = 100
	}
	kind := b[head]
	if kind != leafTable && kind != leafIndex {
		return
	}
	count := int(binary.BigEndian.Uint16(b[head+3:]))
	for i := range min(count, (pageSize-head-8)/2) {
		at := int(binary.BigEndian.Uint16(b[head+8+2*i:]))
		if at < head+8+2*count || at >= pageSize {
			continue
		}
		size, p, ok := varint(b[at:])
		var rowid uint64
		if ok && kind == leafTable {
			rowid, p, ok = varint(p)
		}
		if !ok || size > maxRecord {
			continue
		}
		if whole := payload(p, int(size), kind, page); whole != nil {
			if r, ok := record(whole); ok {
				f(int64(rowid), r)
			}
		}
	}
}

// payload is the bytes of a record that begins with p and may go on in other pages; nil if some are missing.
func payload(p []byte, size int, kind byte, page func(int64) ([]byte, error)) []byte {
	most := inTable
	if kind == leafIndex {
		most = inIndex
	}
	here := size
	if size > most {
		if here = leastInPage + (size-leastInPage)%perOverflow; here > most {
			here = leastInPage
		}
	}
	if here > len(p) {
		return nil
	}
	out := append(make([]byte, 0, size), p[:here]...)
	if here == size {
		return out
	}
	if len(p) < here+4 {
		return nil
	}
	for next := int64(binary.BigEndian.Uint32(p[here:])); len(out) < size; {
		b, err := page(next)
		if next == 0 || err != nil {
			return nil
		}
		out = append(out, b[4:4+min(size-len(out), perOverflow)]...)
		next = int64(binary.BigEndian.Uint32(b))
	}
	return out
}

// value is one column of a record: a number, bytes or text, or neither, which is NULL.
type value struct {
	number *int64
	bytes  []byte
	text   bool
}

func (v value) null() bool { return v.number == nil && v.bytes == nil }

// record reads the columns of a record.
func record(b []byte) (out []value, ok bool) {
	size, types, ok := varint(b)
	if !ok || size > uint64(len(b)) || len(b)-len(types) > int(size) {
		return nil, false
	}
	types, rest := types[:int(size)-(len(b)-len(types))], b[size:]
	for len(types) > 0 {
		var t uint64
		if t, types, ok = varint(types); !ok {
			return nil, false
		}
		n := 0
		switch {
		case t >= 1 && t <= 4:
			n = int(t)
		case t == 5:
			n = 6
		case t == 6 || t == 7:
			n = 8
		case t >= 12 && t < 2*maxRecord:
			n = int(t-12) / 2
		case t != 0 && t != 8 && t != 9:
			return nil, false
		}
		if n > len(rest) {
			return nil, false
		}
		out = append(out, column(t, rest[:n:n]))
		rest = rest[n:]
	}
	return out, len(rest) == 0
}

func column(t uint64, b []byte) value {
	if t == 0 || t == 7 { // no column here is a float
		return value{}
	}
	if t >= 12 {
		return value{bytes: b[:len(b):len(b)], text: t%2 == 1}
	}
	var n int64
	if len(b) > 0 && b[0] >= 0x80 {
		n = -1
	}
	for _, c := range b {
		n = n<<8 | int64(c)
	}
	if t == 9 {
		n = 1
	}
	return value{number: &n}
}

// varint reads a number as SQLite writes them.
func varint(b []byte) (n uint64, rest []byte, ok bool) {
	for i := range min(len(b), 9) {
		if i == 8 {
			return n<<8 | uint64(b[i]), b[9:], true
		}
		n = n<<7 | uint64(b[i]&0x7f)
		if b[i] < 0x80 {
			return n, b[i+1:], true
		}
	}
	return 0, nil, false
}
