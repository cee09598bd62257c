package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// birth is the number of a file and when it was made, in nanoseconds; zero where the file system does not keep that.
func birth(f *os.File) (number uint64, born int64, err error) {
	var st unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return 0, 0, &os.PathError{Op: "statx", Path: f.Name(), Err: err}
	}
	if st.Mask&unix.STATX_BTIME == 0 {
		return st.Ino, 0, nil
	}
	return st.Ino, st.Btime.Sec*1e9 + int64(st.Btime.Nsec), nil
}
