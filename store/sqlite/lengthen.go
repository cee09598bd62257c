package sqlite

import "os"

const (
	// logStep is how far ahead of its end the log is lengthened: some hundred commits, and a few milliseconds for the
	// sync that follows.
	logStep = 2 << 20
	// logLook is after how many synced commits the length of the log is looked at: a command that writes little
	// lengthens nothing.
	logLook = 16
)

// lengthen keeps the file of the log longer than what is in it, while it grows. To sync a write beyond the end of a
// file takes about twice as long as one within, because its new length has to be recorded, and the log is new in each
// process that is the only one. SQLite reads the zeros as the end of the log, as it does with what an earlier round
// left there.
//
// The lock of a transaction that writes is held: nobody else writes to the log or cuts it. It saves time only, so an
// error is none.
func (w *writer) lengthen() {
	if w.synced++; w.synced%logLook != 0 {
		return
	}
	info, err := os.Stat(w.file + "-wal")
	if err != nil {
		return
	}
	size := info.Size()
	if w.log == 0 || size <= w.log {
		w.log = size
		return
	}
	f, err := os.OpenFile(w.file+"-wal", os.O_WRONLY, 0)
	if err != nil {
		return
	}
	n, _ := f.WriteAt(make([]byte, logStep), size)
	_ = f.Close()
	w.log = size + int64(n)
}
