//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perdure/perdure"
)

// TestLookingWhereNothingCanBeWritten runs every command that only looks as a user who may write nothing: not the home,
// not the store, not the file of an agent, not the working folder. All of them work, and nothing is changed, made or
// removed.
func TestLookingWhereNothingCanBeWritten(t *testing.T) {
	const nobody = 65534
	folder, err := os.MkdirTemp("", "looking") // not t.TempDir, whose folder above only this user may enter
	if err != nil {
		t.Fatal(err)
	}
	program := copyOfSelf(t, filepath.Join(folder, "perdure"))
	run := func(credential *syscall.Credential, args ...string) (string, error) {
		cmd := exec.Command(program, args...)
		cmd.Dir = folder
		cmd.Env = []string{"HOME=" + filepath.Join(folder, "user"), "PERDURE_STORE=" + filepath.Join(folder, "home"),
			"TMPDIR=" + os.TempDir()}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, args := range [][]string{
		{"new", "be looked at", "--name", "one"}, {"send", "one", "hello"},
		{"export", "one", "part.agent", "--depth", "0"}, // it writes a snapshot, which the others have, too
		{"export", "one", "one.agent"}, {"export", "one", "text.agent", "--form", "text"},
		{"export", "one", "beside.agent", "--detached"}, {"import", "part.agent", "--store", "dir:parts"},
		{"import", "one.agent", "--store", "dir:folder"},
	} {
		if out, err := run(nil, args...); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	var who *syscall.Credential
	if os.Geteuid() == 0 {
		who = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	shut(t, folder, who)
	before := contents(t, folder)
	for _, line := range []string{
		"ls", "show one", "log one", "state one", "state one@0", "verify one", "inbox", "diff one@0 one",
		"tail one --until ended --timeout 10ms",
		"export one -", "key show", "doctor", "policy explain one --tool files.read",
		"show one.agent", "log one.agent", "state ./one.agent", "verify one.agent", "show text.agent",
		"verify text.agent",
		"show part.agent", "verify part.agent", "show beside.agent", "verify beside.agent", "export one.agent -",
		"ls --store dir:folder", "show one --store dir:folder", "log one --store dir:folder",
		"state one --store dir:folder",
		"verify one --store dir:folder", "inbox --store dir:folder", "export one - --store dir:folder",
		"show one --store dir:parts",
	} {
		out, err := run(who, strings.Fields(line)...)
		if err != nil && !strings.HasPrefix(line, "tail") && !strings.HasPrefix(line, "doctor") {
			t.Errorf("perdure %s: %v\n%s", line, err, out)
		}
		if line == "doctor" {
			out = "" // it says whether the folder can be written, which it finds out by trying
		}
		if strings.Contains(out, "made a key") || strings.Contains(out, "permission denied") ||
			strings.Contains(out, "read-only") {
			t.Errorf("perdure %s tried to write:\n%s", line, out)
		}
		for path, was := range before {
			if is := contents(t, folder)[path]; is != was {
				t.Fatalf("perdure %s: %s is %q, was %q", line, path, is, was)
			}
		}
		if n := len(contents(t, folder)); n != len(before) {
			t.Fatalf("perdure %s: there are %d files, before %d", line, n, len(before))
		}
	}
}

// TestDocumentsAreReadWhereTheHomeCannotBeWritten takes away the right to write a home, its folder alone, or its store.
func TestDocumentsAreReadWhereTheHomeCannotBeWritten(t *testing.T) {
	const nobody = 65534
	for _, shut := range []string{"-R a-w home", "a-w home", "a-w home/store.db"} {
		t.Run(shut, func(t *testing.T) {
			t.Parallel()
			folder, err := os.MkdirTemp("", "reading") // not t.TempDir, whose folder above only this user may enter
			if err != nil {
				t.Fatal(err)
			}
			program := copyOfSelf(t, filepath.Join(folder, "perdure"))
			var who *syscall.Credential
			if os.Geteuid() == 0 {
				who = &syscall.Credential{Uid: nobody, Gid: nobody}
				if err := os.Chown(folder, nobody, nobody); err != nil {
					t.Fatal(err)
				}
			}
			run := func(program string, args ...string) (string, error) {
				cmd := exec.Command(program, args...)
				cmd.Dir = folder
				cmd.Env = []string{"HOME=" + filepath.Join(folder, "user"), "TMPDIR=" + os.TempDir(),
					"PERDURE_STORE=" + filepath.Join(folder, "home"), "PATH=" + os.Getenv("PATH")}
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			t.Cleanup(func() {
				_, _ = run("chmod", "-R", "u+w", ".")
				_ = os.RemoveAll(folder)
			})
			for _, args := range [][]string{{program, "key", "new", "--name", "me"},
				{program, "doc", "write", "notes/rye.md", "We bake [[notes/rye.md]] bread."},
				strings.Fields("chmod " + shut)} {
				if out, err := run(args[0], args[1:]...); err != nil {
					t.Fatalf("%v: %v\n%s", args, err, out)
				}
			}
			for _, line := range []string{"doc read notes/rye.md", "doc ls", "doc history notes/rye.md",
				"doc links notes/rye.md", "search bread", "session ls"} {
				out, err := run(program, strings.Fields(line)...)
				if err != nil || !strings.Contains(out, "cannot be written, so it is only read") ||
					line != "session ls" && !strings.Contains(out, "rye") {
					t.Errorf("perdure %s: %v\n%s", line, err, out)
				}
			}
			out, err := run(program, "doc", "write", "notes/more.md", "text")
			if err == nil || !strings.Contains(out, "hint: give this user the right to it") {
				t.Errorf("perdure doc write: %v\n%s", err, out)
			}
		})
	}
}

// copyOfSelf copies this program to a path under the name of the command.
func copyOfSelf(t *testing.T, path string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(path, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// shut takes the right to write anything in a folder away, and gives it to somebody else.
func shut(t *testing.T, folder string, to *syscall.Credential) {
	t.Helper()
	var folders []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if to != nil {
			if err := os.Chown(path, int(to.Uid), int(to.Gid)); err != nil {
				return err
			}
		}
		if d.IsDir() {
			folders = append(folders, path)
			return os.Chmod(path, 0o500)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()&^0o222)
	})
	t.Cleanup(func() {
		for _, f := range folders {
			_ = os.Chmod(f, 0o700)
		}
		_ = os.RemoveAll(folder)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// contents is everything in a folder: modes, times and bytes.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.Walk(folder, func(path string, info fs.FileInfo, err error) error {
		if err != nil || filepath.Base(path) == "perdure" {
			return err
		}
		out[path] = fmt.Sprint(info.Mode(), info.ModTime())
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			out[path] += perdure.HashOf(b).Short()
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
