//go:build unix

package disk_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/perdure/perdure/internal/disk"
)

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	pipe, file := filepath.Join(dir, "pipe"), filepath.Join(dir, "file")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(file, []byte("12345"), 0o600)); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, path := range []string{pipe, dir, l.Addr().String(), os.DevNull} {
		if _, err := disk.Open(path); !errors.Is(err, disk.ErrIrregular) { // a pipe without a writer would wait
			t.Errorf("%s: got %v, want a refusal", path, err)
		}
	}
	if b, err := disk.ReadFile(file, 5); string(b) != "12345" || err != nil {
		t.Errorf("got %q, %v", b, err)
	}
	if _, err := disk.ReadFile(file, 4); err == nil {
		t.Error("a file longer than the limit was read")
	}
	info, err := os.Stat(file)
	if owner, known := disk.Owner(info); err != nil || !known || owner != disk.Myself() {
		t.Errorf("the owner of a new file is %d (%v), want %d", owner, known, disk.Myself())
	}
}
