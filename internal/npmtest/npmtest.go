// Package npmtest gets programs of npm for tests that drive parts which others wrote.
package npmtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Installed is a folder with these packages in its node_modules, installed once under a name and kept in the user's
// cache. The test is skipped, with a line that says why, where that cannot be done in time.
func Installed(t *testing.T, name string, most time.Duration, packages ...string) string {
	t.Helper()
	for _, program := range []string{"npm", "node"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: %s of npm is not driven", program, name)
		}
	}
	if testing.Short() {
		t.Skipf("short: %s of npm is not driven", name)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "perdure-test", name)
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil {
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Skipf("no place to install %s to: %v", name, err)
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "install-")
	if err != nil {
		t.Skipf("no place to install %s to: %v", name, err)
	}
	defer os.RemoveAll(fresh)
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	args := []string{"install", "--prefix", fresh, "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=0"}
	cmd := exec.CommandContext(ctx, "npm", append(args, packages...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("npm cannot install %s (is its registry within reach?): %v: %s", name, err, out[max(0, len(out)-300):])
	}
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, os.ErrExist) {
		if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
