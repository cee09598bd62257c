// Package git runs git where others may write files: in the folders that agents work in.
package git

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// runsNothing are settings with which git runs no program that a repository names. Whoever can write to a folder is not
// who uses git there: an agent that may write files would run programs.
var runsNothing = []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull,
	"-c", "safe.bareRepository=explicit", "-c", "core.sshCommand=false", "-c", "gc.auto=0"}

// fetchesNothing keeps git from getting what is missing in a repository from where the repository says: that, too, runs
// programs it names.
var fetchesNothing = []string{"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=", "GIT_TERMINAL_PROMPT=0"}

// Command is git in a folder, with more in its environment.
func Command(ctx context.Context, dir string, env []string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "git", append(slices.Clip(runsNothing), args...)...)
	c.Dir = dir
	c.Env = append(slices.DeleteFunc(os.Environ(), func(s string) bool {
		for _, name := range []string{"DIR", "WORK_TREE", "INDEX_FILE", "PREFIX", "OBJECT_DIRECTORY"} {
			if strings.HasPrefix(s, "GIT_"+name+"=") {
				return true // of a git that runs us
			}
		}
		return false
	}), slices.Concat(fetchesNothing, env)...)
	return c
}
