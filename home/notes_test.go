package home

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// Whoever asks from elsewhere hears what went wrong; what files and addresses there are, only somebody at home.
func TestWhoAsksFromElsewhereLearnsNothingOfTheHome(t *testing.T) {
	t.Parallel()
	var atHome []string
	h := &Home{URL: filepath.Join(t.TempDir(), "home"), Acts: true,
		Note: func(text string) { atHome = append(atHome, text) }}
	if err := h.Locate(); err != nil {
		t.Fatal(err)
	}
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		file := filepath.Join(h.Dir, NodeFileName)
		if err := os.WriteFile(file, []byte("advisors: {secretive: echo}\n"), 0o600); err != nil {
			return err
		}
		for _, elsewhere := range []bool{true, false} {
			ctx := ctx
			if atHome = nil; elsewhere {
				ctx = WithNotes(ctx)
			}
			h.noteFault(ctx, "it is recorded", errors.New("open /secretive/place"))
			h.noteLacks(ctx, n, "big", nil)
			heard, told := strings.Join(NotesIn(ctx), "\n"), strings.Join(atHome, "\n")
			if !elsewhere {
				heard = told
			}
			if !strings.Contains(heard, "it is recorded") || !strings.Contains(heard, "no advisor big") ||
				strings.Contains(heard, "secretive") == elsewhere {
				t.Errorf("elsewhere %t: heard %q", elsewhere, heard)
			}
			if !strings.Contains(told, "/secretive/place") {
				t.Errorf("elsewhere %t: at home %q", elsewhere, told)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
