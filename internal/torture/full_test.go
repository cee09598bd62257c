//go:build unix

package torture

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// diskParts run the real program on a real disk that is full, and one that can only be read.
func diskParts() []part {
	return []part{{name: "full and read-only disk", round: fullDisk, needs: needsMount,
		sabotage: "an effect done twice"}}
}

// needsMount says why no small file system can be mounted.
func needsMount() string {
	dir, err := os.MkdirTemp("", "perdure-torture-mount-")
	if err != nil {
		return err.Error()
	}
	defer func() { _ = os.Remove(dir) }()
	if err := mountSmall(dir); err != nil {
		return "a small file system cannot be mounted here: run it as root on Linux"
	}
	return errText(unmount(dir)) + needsProgram()
}

func mountSmall(dir string) error {
	return exec.Command("mount", "-t", "tmpfs", "-o", "mode=700,size=4m", "tmpfs", dir).Run()
}

func unmount(dir string) error { return exec.Command("umount", "-l", dir).Run() }

func errText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// fullDisk fills the disk under a node at work, looks at the agents, makes room again, and waits for the node to bring
// them to their end: by itself, or with a supervisor that starts it again when it exits. Then the disk becomes one that
// can only be read.
func fullDisk(r *round) {
	mnt := r.t.TempDir()
	r.must(mountSmall(mnt))
	defer func() { _ = unmount(mnt) }()
	h := newHome(r, mnt, one(r, "sqlite", "dir"))
	write := "echo NAME-TURN >> ledger; sleep 0.02"
	if r.sabotaged {
		write = "echo NAME-TURN >> ledger; " + write
	}
	for i := range 2 {
		h.agent(fmt.Sprint("agent", i), write, write, write, write, write, write)
	}
	p := h.start(h.node("node")...)
	after := r.rng.IntN(6)
	h.until("the node is at work", func() bool { return len(h.ledger()) >= after })
	h.fill(filepath.Join(mnt, "fill"))
	r.faults++
	<-time.After(time.Duration(r.rng.Int64N(int64(500 * time.Millisecond))))
	h.looks(r)
	r.must(os.Remove(filepath.Join(mnt, "fill")))
	restarts := 0
	h.until("all agents have ended after there was room again", func() bool {
		select {
		case <-p.ended:
			restarts++
			p = h.start(h.node("node")...)
		default:
		}
		h.settle(inDoubt)
		return strings.Count(h.ok("ls", "--jq", ".[].state"), "terminated") == len(h.names)
	})
	p.kill()
	h.audit(nil)
	r.must(exec.Command("mount", "-o", "remount,ro", mnt).Run())
	r.faults++
	h.looks(r)
}

// fill writes to a file until the disk is full.
func (h *home) fill(path string) {
	f, err := os.Create(path)
	h.r.must(err)
	for size := 1 << 16; size > 0; {
		if _, err = f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	h.r.must(errors.Join(f.Close()))
}
