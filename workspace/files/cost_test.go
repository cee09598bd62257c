package files

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure/internal/disk"
)

// counting is a disk that counts how often a folder is made durable.
type counting struct {
	disk.System
	synced atomic.Int64
}

func (d *counting) Sync(path string, do func() error) error {
	d.synced.Add(1)
	return d.System.Sync(path, do)
}

// The first sync of many documents waits for the disk once for many of them, beside once for the text of each; and
// leaves what one by one would.
func TestAFirstSyncWaitsForManyAtOnce(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	const docs, folders = 300, 3
	for i := range docs {
		p.write(fmt.Sprintf("notes/%d/n%d.md", i%folders, i), fmt.Sprintf("# %d\n", i))
	}
	d := &counting{}
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	defer disk.Replace(p.Dir, d)()
	noted := 0
	p.fail = func(at string) error {
		if at == "sends" {
			noted++
		}
		return nil
	}
	r := p.sync()
	if n := len(did(r, Written)); n < docs || r.Files != n {
		t.Errorf("%d files written of %d, want %d", n, r.Files, docs)
	}
	if n := d.synced.Load(); n > 50 || noted > 10 {
		t.Errorf("%d documents made folders durable %d times, and were noted %d times", docs, n, noted)
	}
	p.still()
	for i := range docs {
		p.shows(fmt.Sprintf("team/notes/%d/n%d.md", i%folders, i), fmt.Sprintf("# %d\n", i))
	}
}
