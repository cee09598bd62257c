package home

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/schema"
)

// TestASchemaOfTheSameTickIsFound puts a schema into a folder so soon after it was read that the file system, which may
// measure time in steps of two seconds, leaves the same time on it. A node never found that schema.
func TestASchemaOfTheSameTickIsFound(t *testing.T) {
	t.Parallel()
	h := &Home{Dir: t.TempDir()}
	dir := filepath.Join(h.Dir, schemaDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	was := time.Now()
	if err := os.Chtimes(dir, was, was); err != nil {
		t.Fatal(err)
	}
	c, err := h.stateSchemas()
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(`{"name": "Ticket", "version": 1, "fields": [{"id": 1, "name": "size", "type": "int"}]}`)
	of, err := schema.Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := perdure.Hash(of.ID())
	if err := c.CheckState(id, nil); !errors.Is(err, perdure.ErrIncapable) {
		t.Fatalf("a schema that is nowhere: got %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ticket.lode"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(dir, was, was); err != nil {
		t.Fatal(err)
	}
	if err := c.CheckState(id, nil); err != nil {
		t.Errorf("a schema of the same tick: got %v", err)
	}
}
