package alive_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/alive"
)

// TestMain is, when told so, a process that makes a name known and waits to be killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("ALIVE_FOLDER"); dir != "" {
		f := &alive.Folder{Path: dir}
		if err := f.Hold([]byte("child")); err != nil {
			panic(err)
		}
		if _, err := os.Stdout.WriteString("held\n"); err != nil {
			panic(err)
		}
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestAProcessIsKnownToBeDeadWhenItIsKilled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "nodes")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), "ALIVE_FOLDER="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }() // it keeps the child waiting
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	f := &alive.Folder{Path: dir}
	if f.Dead([]byte("child")) {
		t.Error("a process that lives is said to be dead")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child was not killed")
	}
	for range 2 { // who looks does not make it so
		if !f.Dead([]byte("child")) {
			t.Error("a process that was killed is not known to be dead")
		}
	}
}

func TestOnlyWhoWasKnownCanBeDead(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "nodes")
	one, two := &alive.Folder{Path: dir}, &alive.Folder{Path: dir}
	if two.Dead([]byte("one")) {
		t.Error("a name nobody has made known is said to be dead")
	}
	for range 2 {
		if err := one.Hold([]byte("one")); err != nil {
			t.Fatal(err)
		}
	}
	if one.Dead([]byte("one")) || two.Dead([]byte("one")) {
		t.Error("a name that is held is said to be dead")
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder stays when nobody is in it")
	}
}

func TestWhoLeftSomethingBehindIsKnownToBeDead(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "nodes")
	one, two := &alive.Folder{Path: dir}, &alive.Folder{Path: dir}
	for _, name := range []string{"kept", "gone"} {
		if err := one.Hold([]byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	one.Keep([]byte("kept"))
	if two.Dead([]byte("kept")) {
		t.Error("a name that is held is said to be dead")
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if !two.Dead([]byte("kept")) || two.Dead([]byte("gone")) {
		t.Error("who left something behind is not known to be dead, or who left nothing is")
	}
}

func TestFilesOfTheLongDeadAreSwept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := filepath.Join(dir, "6f6c64")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	f := &alive.Folder{Path: dir}
	if err := f.Hold([]byte("me")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the file of a process that ended long ago stays")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
