package ralph

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// An agent that may write the files of a folder writes none below .git; git takes other files for a repository, too.
func TestAFolderThatIsARepositoryByItselfRunsNothing(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	dir, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/main\n",
		"config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n" +
			"\tfsmonitor = \"sh -c 'echo >> " + filepath.ToSlash(ran) + "'\"\n",
		"objects/info/x": "x\n", "refs/heads/x.txt": "x\n", "TASKS.md": "- [ ] Work\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := &Repository{Dir: dir}
	if g.Is(t.Context()) {
		t.Error("the folder is taken for the work tree of a repository")
	}
	if _, err := g.Changed(t.Context()); err == nil {
		t.Error("git looked for changes")
	}
	if made, err := g.Commit(t.Context(), "Work"); err == nil {
		t.Errorf("git committed %q", made)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("git ran a program that the folder names")
	}
}
