package workspace

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever asks for one row is told which file is damaged, as is whoever asks for many.
func TestARowOfADamagedIndexNamesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), IndexFile)
	ix, err := OpenIndex(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	err = ix.change(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), "INSERT INTO bare WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 "+
			"FROM n WHERE i<2000) SELECT randomblob(300) FROM n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := bytes.Repeat([]byte("damage"), len(whole)/12)
	if err := os.WriteFile(path, append(whole[:len(whole)-len(bad):len(whole)-len(bad)], bad...), 0o600); err != nil {
		t.Fatal(err)
	}
	if ix, err = OpenIndex(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ix.Close() }()
	n := 0
	err = ix.row(t.Context(), "SELECT sum(length(entry)) FROM bare", nil, &n)
	if err == nil || !strings.Contains(err.Error(), path+" is damaged") {
		t.Errorf("%v, want one that names the file", err)
	}
}
