package torture

import "syscall"

// Flaw is a way in which an operation fails.
type Flaw int

// The ways operations fail.
const (
	None       Flaw = iota
	Broken          // EIO
	Full            // ENOSPC
	Short           // half of a write is done, then ENOSPC
	FailedSync      // a sync fails, and what was written before it is lost
)

var flawNames = [...]string{"none", "EIO", "ENOSPC", "short write", "failed sync"}

func (f Flaw) String() string { return flawNames[f] }

// Err is what the system says.
func (f Flaw) Err() error {
	if f == Full || f == Short {
		return syscall.ENOSPC
	}
	return syscall.EIO
}

// Fault makes the n-th operation of a disk fail. The zero Fault is none.
type Fault struct {
	At     int // counted from 1, over all operations from when the fault was set
	Flaw   Flaw
	Sticky bool // all after it fail as well
}

// strikes reports whether the flaw can befall an operation.
func (f Flaw) strikes(k Kind) bool {
	switch f {
	case Broken:
		return k != Mark
	case Full:
		return k == Write || k == Create || k == Mkdir || k == Rename || k == Link
	case Short:
		return k == Write
	case FailedSync:
		return k == Sync || k == SyncDir
	case None:
	}
	return false
}
