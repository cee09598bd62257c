package disk_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/disk"
)

func TestAFileIsWrittenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	put := func(text string, fails error) error {
		return disk.WriteWhole(name, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return errors.Join(err, fails)
		})
	}
	if err := put("one", nil); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := put("two", broken); !errors.Is(err, broken) {
		t.Errorf("got %v, want what went wrong", err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "one" {
		t.Errorf("the file has %q, %v; want what it had", b, err)
	}
	err := disk.WriteWhole(name, func(io.Writer) error { return put("other", nil) })
	if err == nil {
		t.Error("two writers of one file")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%d files are left, %v; want one", len(left), err)
	}
}
