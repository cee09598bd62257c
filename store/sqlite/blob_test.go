package sqlite

import (
	"os"
	"testing"

	"github.com/perdure/perdure"
)

// TestABlobOfOtherContentIsReplaced flips a byte of a body that lies in a file of its own: its size is right, and what
// it holds is not what was written. Whatever brings the body again puts it right.
func TestABlobOfOtherContentIsReplaced(t *testing.T) {
	t.Parallel()
	for name, cure := range map[string]func(s *Store, id perdure.AgentID, good []*perdure.Entry) error{
		"put": func(s *Store, id perdure.AgentID, good []*perdure.Entry) error {
			return s.Put(t.Context(), id, good...)
		},
		"heal": func(s *Store, id perdure.AgentID, good []*perdure.Entry) error {
			_, err := s.Heal(t.Context(), id, good)
			return err
		},
		"repair, then put": func(s *Store, id perdure.AgentID, good []*perdure.Entry) error {
			if h, err := s.Heal(t.Context(), id, nil); err != nil || h.Entries == int64(len(good)) {
				t.Fatalf("heal without a copy: %+v, %v", h, err)
			}
			return s.Put(t.Context(), id, good...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := interleaved(t, 1, 6, false)
			flipBlobs(t, w.path)
			s, err := Open(t.Context(), w.path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			for id, good := range w.entries {
				if holdsAll(t.Context(), s, id, good) {
					t.Fatal("nothing is wrong with the agent")
				}
				if err := cure(s, id, good); err != nil {
					t.Fatal(err)
				}
				if !holdsAll(t.Context(), s, id, good) {
					t.Errorf("the agent is not as it was: %v", allOf(t, s, id))
				}
			}
		})
	}
}

// flipBlobs changes a byte in each body that has a file of its own.
func flipBlobs(t *testing.T, path string) {
	t.Helper()
	files, err := os.ReadDir(folderOf(path))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d bodies in files, %v", len(files), err)
	}
	for _, f := range files {
		name := folderOf(path) + "/" + f.Name()
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b[1000] ^= 1
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// allOf says why the entries of an agent cannot be read.
func allOf(t *testing.T, s *Store, id perdure.AgentID) error {
	t.Helper()
	for _, err := range perdure.Memory(t.Context(), s, id) {
		if err != nil {
			return err
		}
	}
	return nil
}
