//go:build unix

package sqlite

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// runAsNobody runs the calling test again in a process of a user without rights of its own.
func runAsNobody(t *testing.T) {
	t.Helper()
	const nobody = 65534
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "nobody") // not t.TempDir, whose folder above only this user may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	program := filepath.Join(folder, "test")
	if err := os.WriteFile(program, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o777); err != nil { // beyond the umask
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "TMPDIR="+folder, "HOME="+folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("as somebody else: %v\n%s", err, out)
	}
}
