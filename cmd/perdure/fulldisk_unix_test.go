//go:build unix

package main

import (
	"database/sql"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/home"
)

// smallDiskFor mounts a file system of a few bytes for a test.
func smallDiskFor(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system takes root")
	}
	if err := mountSmall(dir, size); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	return dir
}

// fillUp takes all the room there is on the disk of a folder until it is called.
func fillUp(t *testing.T, dir string) (empty func()) {
	t.Helper()
	path := filepath.Join(dir, "fill")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1 << 16, 1 << 12, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, n))
		}
	}
	_ = f.Close() // it is full, as it should be
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestANodeOutlivesAFullDisk fills the disk while an effect that must happen once is under way. What came of it is
// known to the node alone until there is room: it keeps it, reopens the store by itself, records it and goes on.
func TestANodeOutlivesAFullDisk(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"", "dir:"} {
		t.Run("store "+scheme, func(t *testing.T) {
			t.Parallel()
			disk := smallDiskFor(t, "4m")
			h := newShellHomeIn(t, scheme+filepath.Join(disk, "home"), hold, "echo second >>ledger")
			node, logged := h.node()
			h.until("the first command runs", func() bool { return h.ledger() != "" })
			empty := fillUp(t, disk)
			h.until("the command goes on", func() bool { return h.waits() || strings.Contains(h.ledger(), "ended") })
			h.until("the node says that there is no room", func() bool {
				return strings.Contains(logged(), "no space left")
			})
			for _, word := range looks {
				must(t, exitOK, append(strings.Fields(word), "--store", h.store)...)
			}
			empty()
			h.until("the agent has ended", func() bool { return h.show(".standing") == "terminated\n" })
			if got := h.ledger(); got != "begun\nended\nsecond\n" {
				t.Errorf("the ledger says %q, want each effect once", got)
			}
			if log := must(t, exitOK, "log", "a", "--store", h.store); strings.Contains(log, "doubt") {
				t.Errorf("an outcome that was known is in doubt:\n%s", log)
			}
			interrupt(t, node)
			must(t, exitOK, "verify", "a", "--store", h.store)
		})
	}
}

// node starts a node and returns what says what it has logged.
func (h *shellHome) node(args ...string) (*exec.Cmd, func() string) {
	h.t.Helper()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(h.t.TempDir(), "log"))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = log.Close() })
	cmd := exec.CommandContext(h.t.Context(), self)
	cmd.Path, cmd.Args, cmd.Stderr, cmd.WaitDelay = self, slices.Concat([]string{"perdure", "node"}, h.args, args), log,
		10*time.Second
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	return cmd, func() string {
		b, err := os.ReadFile(log.Name())
		if err != nil {
			h.t.Fatal(err)
		}
		return string(b)
	}
}

// looks are the commands that only look, at an agent called a.
var looks = []string{"ls", "inbox", "show a", "log a", "verify a", "export a -"}

// killed is a home on a disk of its own as a node leaves it that is killed: what it wrote last is in the log, whose
// index is gone, as after a power cut or in a copy.
func killed(t *testing.T, disk string) *shellHome {
	t.Helper()
	h := newShellHomeIn(t, filepath.Join(disk, "home"), hold)
	node, _ := h.node()
	h.until("the first command runs", func() bool { return h.ledger() != "" })
	if err := node.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = node.Wait() // it was killed
	for _, name := range []string{"store.db-shm", "seen.db-shm"} {
		if err := os.Remove(filepath.Join(h.store, name)); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func TestWhatWasKilledCanBeLookedAtOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDiskFor(t, "4m")
	h := killed(t, disk)
	empty := fillUp(t, disk)
	for _, word := range looks {
		must(t, exitOK, append(strings.Fields(word), "--store", h.store)...)
	}
	if _, errs, code := perdureIn(t, "", "send", "a", "hello", "--store", h.store); code != exitFailure ||
		!strings.Contains(errs, "make room") {
		t.Errorf("send on a full disk: exit %d, %s", code, errs)
	}
	empty()
	must(t, exitOK, "send", "a", "hello", "--store", h.store)
	must(t, exitOK, "verify", "a", "--store", h.store)
}

func TestWhatWasKilledCanBeLookedAtWhereNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	disk := smallDiskFor(t, "4m")
	h := killed(t, disk)
	if out, err := exec.Command("mount", "-o", "remount,ro", disk).CombinedOutput(); err != nil {
		t.Skipf("it cannot be made read-only: %v: %s", err, out)
	}
	for _, word := range looks {
		must(t, exitOK, append(strings.Fields(word), "--store", h.store)...)
	}
}

// TestAWriterThatStandsStillBlocksNoReader holds the lock to write, in the middle of a change, as a process does that
// is stopped.
func TestAWriterThatStandsStillBlocksNoReader(t *testing.T) {
	t.Parallel()
	h := newShellHome(t, hold)
	db, err := sql.Open("sqlite", filepath.Join(h.store, home.StoreFile))
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err == nil {
		_, err = tx.Exec("UPDATE agents SET due=1")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range looks {
		must(t, exitOK, append(strings.Fields(word), "--store", h.store)...)
	}
	if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
		t.Fatal(err)
	}
	must(t, exitOK, "send", "a", "hello", "--store", h.store)
}

// A server whose disk is full can still be read, and says that it is not ready, and why.
func TestAServerOnAFullDiskIsNotReady(t *testing.T) {
	t.Parallel()
	disk := smallDiskFor(t, "8m")
	s := serve(t, filepath.Join(disk, "home"), "--no-node")
	ready := func(status int) string {
		t.Helper()
		res, err := http.Get(s.url + "/v1/ready")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if _ = res.Body.Close(); err != nil || res.StatusCode != status {
			t.Fatalf("got %s, want %d: %s, %v", res.Status, status, text, err)
		}
		return string(text)
	}
	ready(http.StatusOK)
	empty := fillUp(t, disk)
	if text := ready(http.StatusServiceUnavailable); !strings.Contains(text, "no space left") {
		t.Errorf("got %s, want the reason", text)
	}
	empty()
	ready(http.StatusOK)
}

// TestWhatAFullDiskCutShortIsMadeOnceThereIsRoom: a key, a policy or a node.yaml of which only the name was written
// would be taken for what somebody chose, and stand for good.
func TestWhatAFullDiskCutShortIsMadeOnceThereIsRoom(t *testing.T) {
	t.Parallel()
	disk := smallDiskFor(t, "4m")
	fresh, old := filepath.Join(disk, "fresh"), filepath.Join(disk, "old")
	must(t, exitOK, "init", old)
	must(t, exitOK, "init", fresh)
	for _, name := range []string{"key", "node.yaml", "trust", "policies", "store.db"} {
		if err := os.RemoveAll(filepath.Join(fresh, name)); err != nil {
			t.Fatal(err)
		}
	}
	empty := fillUp(t, disk)
	must(t, exitFailure, "init", fresh)
	must(t, exitFailure, "key", "rotate", "--store", old)
	empty()
	must(t, exitOK, "init", fresh)
	must(t, exitOK, "new", "go on", "--name", "a", "--store", fresh)
	must(t, exitOK, "policy", "check", "--store", fresh)
	must(t, exitOK, "key", "rotate", "--store", old)
}
