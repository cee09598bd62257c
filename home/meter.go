package home

import (
	"io"
	"os"
	"sync/atomic"
)

// Meter says how far a file has been read, for people who wait.
type Meter struct {
	size, at atomic.Int64
}

// Of is the file, metered from its beginning.
func (m *Meter) Of(f *os.File) io.ReadSeeker {
	if info, err := f.Stat(); err == nil {
		m.size.Store(info.Size())
	}
	m.at.Store(0)
	return &metered{f, m}
}

// Read is how many bytes have been read, and of how many; total is zero if nothing has been opened.
func (m *Meter) Read() (done, total int64) { return m.at.Load(), m.size.Load() }

type metered struct {
	f *os.File
	m *Meter
}

func (r *metered) Read(p []byte) (int, error) {
	n, err := r.f.Read(p)
	r.m.at.Add(int64(n))
	return n, err
}

func (r *metered) Seek(offset int64, whence int) (int64, error) {
	at, err := r.f.Seek(offset, whence)
	r.m.at.Store(at)
	return at, err
}
