package home_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/disk"
)

// inhabited is the folder of a home with some agents.
func inhabited(t *testing.T, url string, agents int) {
	t.Helper()
	h := &home.Home{URL: url}
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		for i := range agents {
			agentIn(ctx, t, h, s, fmt.Sprintf("agent-%d", i))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// diagnosis is all that a doctor says of some things, a line each.
func diagnosis(t *testing.T, url string, d *home.Doctor, of ...string) (text string) {
	t.Helper()
	h := &home.Home{URL: url, Looks: !d.Repair, Mends: d.Repair}
	err := h.Locate()
	var found []home.Examined
	if err == nil {
		found, err = d.Examine(t.Context(), h, &home.Powers{})
	}
	if err != nil {
		t.Fatal(err)
	}
	h.CloseWitness()
	for _, one := range found {
		for _, what := range of {
			if one.What == what {
				text += one.What + " " + one.Health + ": " + one.Found + "; " + one.Fix + "\n"
			}
		}
	}
	return text
}

// says reports what of some words a text lacks.
func says(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("got %q, want %q in it", text, w)
		}
	}
}

func overwrite(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedPlaceIsRepaired(t *testing.T) {
	t.Parallel()
	for scheme, file := range map[string]string{"sqlite:": "store.db-place", "dir:": ".index/place"} {
		for _, content := range []string{"", "short"} {
			base := t.TempDir()
			url := scheme + filepath.Join(base, "home")
			inhabited(t, url, 2)
			path := filepath.Join(base, "home", file)
			if _, err := os.Stat(path); err != nil {
				t.Fatal(err)
			}
			overwrite(t, path, content)
			says(t, diagnosis(t, url, &home.Doctor{}, "place"), "place wrong", "doctor --repair", "seat take --all")
			says(t, diagnosis(t, url, &home.Doctor{Repair: true}, "place", "seat"), "it has a new place",
				"seat take --all", "the seat of 2 agents")
			if got := diagnosis(t, url, &home.Doctor{}, "place"); got != "" {
				t.Errorf("after a repair a doctor says %q", got)
			}
		}
	}
}

func TestADoctorSaysWhatHelpsWithForeignFiles(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "folder")
	url := "dir:" + folder
	inhabited(t, url, 1)
	overwrite(t, filepath.Join(folder, "empty.agent"), "")
	overwrite(t, filepath.Join(folder, "noise.agent"), strings.Repeat("\x01\x9c\xff", 999))
	for _, d := range []*home.Doctor{{}, {Repair: true}} {
		got := diagnosis(t, url, d, "file")
		if says(t, got, "empty.agent is left alone", "noise.agent is left alone"); strings.Contains(got, "--repair") ||
			strings.Count(got, "move it out of "+folder) != 2 {
			t.Errorf("a doctor says %q, want that the files are to be moved away", got)
		}
	}
}

func TestACopiedHomeMissesWhatItsWitnessSaw(t *testing.T) {
	t.Parallel()
	from, to := filepath.Join(t.TempDir(), "home"), filepath.Join(t.TempDir(), "copy")
	inhabited(t, from, 3)
	h := &home.Home{URL: from}
	if err := h.Use(t.Context(), false, func(ctx context.Context, s perdure.Store) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(to, func(path string, one fs.DirEntry, err error) error { // CopyFS goes by the umask
		if err != nil || one.IsDir() {
			return errors.Join(err, os.Chmod(path, 0o700))
		}
		return os.Chmod(path, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{from, to} {
		for _, suffix := range []string{"", "-wal", "-shm", "-place"} {
			_ = os.Remove(filepath.Join(at, "store.db"+suffix))
		}
		other := &home.Home{URL: at}
		if err := other.Use(t.Context(), true, func(context.Context, perdure.Store) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if got := diagnosis(t, at, &home.Doctor{}, "seen"); strings.Count(got, "seen wrong") != 3 {
			t.Errorf("of %s, whose 3 agents are gone, a doctor says %q", filepath.Base(at), got)
		}
	}
}

func TestADoctorRemovesWhatDeadProcessesLeft(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "home")
	inhabited(t, dir, 1)
	old := time.Now().Add(-48 * time.Hour)
	dead := []string{"store.db.new-0123abcd", "bk.db.new-0123abcd", "bk.db.perdure-part"}
	fresh := filepath.Join(dir, "bk.db.new-00000000")
	for _, name := range dead {
		overwrite(t, filepath.Join(dir, name), "half")
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	overwrite(t, fresh, "half")
	got := diagnosis(t, dir, &home.Doctor{}, "stray")
	if says(t, got, append(dead, "bk.db.new-00000000")...); strings.Count(got, "doctor --repair") != len(dead) {
		t.Errorf("a doctor says %q", got)
	}
	diagnosis(t, dir, &home.Doctor{Repair: true}, "stray")
	for _, name := range dead {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Errorf("what somebody may be writing was removed: %v", err)
	}
	if got := diagnosis(t, dir, &home.Doctor{}, "stray"); strings.Count(got, "stray") != 1 {
		t.Errorf("after a repair a doctor says %q", got)
	}
	made, err := disk.Reserve(filepath.Join(dir, "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, made.Temp, "half")
	diagnosis(t, dir, &home.Doctor{Repair: true}, "stray")
	if _, err := os.Stat(made.Temp); err != nil {
		t.Errorf("what a repair of the store is writing was removed: %v", err)
	}
	if err := made.Release(); err != nil {
		t.Fatal(err)
	}
	overwrite(t, made.Temp, "half") // as a repair leaves it that was killed
	diagnosis(t, dir, &home.Doctor{Repair: true}, "stray")
	if _, err := os.Stat(made.Temp); err == nil {
		t.Error("what a killed repair left is still there")
	}
}

func TestADoctorKnowsTheFilesOfAHome(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "home")
	inhabited(t, dir, 1)
	overwrite(t, filepath.Join(dir, "files.db"), "")
	overwrite(t, filepath.Join(dir, "files.db-lock"), "")
	if err := os.Mkdir(filepath.Join(dir, "ralph"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := diagnosis(t, dir, &home.Doctor{}, "stray"); got != "" {
		t.Errorf("a doctor says %q", got)
	}
	overwrite(t, filepath.Join(dir, "node.yaml"), "effects:\n  none.such: once\n")
	says(t, diagnosis(t, dir, &home.Doctor{}, "effects"), "effects wrong", "there is no MCP server none")
}

func TestDealingsAreForTheOwnerAlone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "home")
	inhabited(t, dir, 0)
	h := &home.Home{URL: dir}
	if err := h.Locate(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		d, err := h.OpenDealings(t.Context())
		if err == nil {
			err = d.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "exchange.db")
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%v, %v", info.Mode(), err)
		}
		if err := os.Chmod(path, 0o644); err != nil { // as earlier versions made it
			t.Fatal(err)
		}
	}
}

// TestAFileRunsWhereThereIsNoHome runs the file of an agent, whose end is missing, in a home that is not there yet.
func TestAFileRunsWhereThereIsNoHome(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	from, file := filepath.Join(base, "from"), filepath.Join(base, "x.agent")
	h := &home.Home{URL: from}
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		id := agentIn(ctx, t, h, s, "x").ID()
		_, err := h.Export(ctx, s, id, home.Export{Options: capsule.Options{Depth: perdure.Full}, File: file})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, file, string(b[:len(b)-10]))
	for _, looks := range []bool{true, false} {
		var notes string
		h = &home.Home{URL: filepath.Join(base, "fresh", "home"), Acts: !looks, Looks: looks,
			Note: func(text string) { notes += text + "\n" }}
		err = h.UseFor(t.Context(), file, func(ctx context.Context, s perdure.Store, arg string) error {
			id, err := h.FindAgent(ctx, s, arg)
			if err != nil || looks {
				return err
			}
			_, done, err := h.Alone(ctx, id)
			if err == nil {
				err = done()
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if says(t, notes, "x.agent was cut short"); !looks {
			says(t, notes, "as it was it is kept as "+file+".damaged-")
		}
	}
}
