package hostile

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A folder of agents may come from a stranger, by git or on a stick, with a link or a pipe where the index has files.
func TestIndexOfAStrangersFolderIsNotFollowed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const mine = "# mine\n"
	for _, as := range []string{"link", "pipe"} {
		for _, name := range []string{"journal", "bell", "place", "lock", ""} {
			must(t, os.RemoveAll(p.path("folder")))
			p.ok("new", "weather", "--name", "theirs", "--store", "dir:folder")
			p.write("profile", mine)
			index := p.path("folder", ".index", name)
			must(t, os.RemoveAll(index))
			switch {
			case as == "link" && name == "":
				must(t, os.Symlink(p.dir, index))
			case as == "link":
				must(t, os.Symlink(p.path("profile"), index))
			default:
				makeFIFO(t, index)
			}
			for _, args := range [][]string{{"ls"}, {"new", "mine", "--name", "own"}, {"send", "theirs", "hello"}} {
				g := p.perdure(append(args, "--store", "dir:folder")...)
				if g.code == 0 {
					t.Errorf("%v with a %s for .index/%s: want a refusal, got %v", args, as, name, g)
				}
			}
			if b := have(os.ReadFile(p.path("profile")))(t); string(b) != mine || p.exists("journal") {
				t.Errorf("with a %s for .index/%s: something outside was written: %q", as, name, b)
			}
		}
	}
}

// An agent that may write files gets no program run by way of git: it does not write what git reads, and a sync of
// memory runs nothing that a repository names, whoever named it there.
func TestWriterOfFilesRunsNoProgramByGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	p := newPlace(t)
	p.ok("doc", "write", "agents/coder/TASKS.md", "# Now", "--role", "coder")
	p.ok("files", "sync", "mem", "--role", "coder", "--git")
	config := string(have(os.ReadFile(p.path("mem", ".git", "config")))(t))
	evil := config + "[core]\n\tfsmonitor = \"touch " + p.path("ran") + "; false\"\n"
	p.propose("config", "files.write", "path: mem/.git/config, text: "+quoted(evil))
	p.ok("new", "write", "--name", "writer")
	p.perdure("run", "writer", "--quiet", "--advisor", "script:config.yaml", "--policy", "open.cedar", "--files", ".")
	if now := have(os.ReadFile(p.path("mem", ".git", "config")))(t); string(now) != config {
		t.Errorf("an agent wrote the settings of git: %s", now)
	}
	p.write("mem/.git/config", evil)
	p.write("mem/TASKS.md", "# Later\n")
	if g := p.ok("files", "sync", "mem", "--role", "coder", "--git"); !strings.Contains(g, "TASKS.md") {
		t.Errorf("sync: %s", g)
	}
	if p.exists("ran") {
		t.Error("a program that the repository names has run")
	}
}
