package tool_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
)

// fileTools are the tools of a new folder, and that folder.
func fileTools(t *testing.T) (func(name string) perdure.Tool, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	tools := tool.Files(root)
	return func(name string) perdure.Tool { return named(t, tools, "files."+name) }, dir
}

func onDisk(t *testing.T, parts ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFileToolsHaveTheEffectTheySay(t *testing.T) {
	f, _ := fileTools(t)
	for name, want := range map[string]perdure.Effect{
		"read": perdure.Read, "list": perdure.Read, "stat": perdure.Read, "write": perdure.Idempotent,
		"append": perdure.Once, "remove": perdure.Idempotent,
	} {
		if got := f(name).Spec().Effect; got != want {
			t.Errorf("files.%s: got %s, want %s", name, got, want)
		}
	}
}

func TestFilesAreWrittenReadListedAndRemoved(t *testing.T) {
	f, dir := fileTools(t)
	for range 2 { // again is the same
		value(t, call(t, f("write"), map[string]any{"path": "a/b/c.txt", "text": "héllo"}))
	}
	value(t, call(t, f("append"), map[string]any{"path": "a/b/c.txt", "text": "!"}))
	value(t, call(t, f("append"), map[string]any{"path": "log", "text": "one\n"}))
	if got := onDisk(t, dir, "a", "b", "c.txt") + onDisk(t, dir, "log"); got != "héllo!one\n" {
		t.Errorf("got %q", got)
	}
	if diff := cmp.Diff(map[string]any{"text": "héllo!", "size": int64(7)},
		value(t, call(t, f("read"), map[string]any{"path": "a/b/c.txt"}))); diff != "" {
		t.Error(diff)
	}
	part := value(t, call(t, f("read"), map[string]any{"path": "a/b/c.txt", "limit": 2}))
	// é is two bytes
	if diff := cmp.Diff(map[string]any{"text": "h", "size": int64(7), "truncated": true}, part); diff != "" {
		t.Error(diff)
	}
	if got := value(t, call(t, f("read"), map[string]any{"path": "a/b/c.txt", "offset": 6}))["text"]; got != "!" {
		t.Errorf("got %q", got)
	}
	if got := value(t, call(t, f("read"), map[string]any{"path": "a/b/c.txt", "offset": 1 << 40}))["text"]; got != "" {
		t.Errorf("got %q", got)
	}
	list := value(t, call(t, f("list"), map[string]any{"path": "."}))["entries"]
	want := []any{map[string]any{"name": "a", "kind": "folder"},
		map[string]any{"name": "log", "kind": "file", "size": int64(4)}}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	if got := value(t, call(t, f("stat"), map[string]any{"path": "log"})); got["kind"] != "file" ||
		got["size"] != int64(4) {
		t.Errorf("got %v", got)
	}
	fails(t, call(t, f("remove"), map[string]any{"path": "a"}), "not empty")
	for _, want := range []bool{true, false} {
		if got := value(t, call(t, f("remove"), map[string]any{"path": "log"}))["removed"]; got != want {
			t.Errorf("got removed %v, want %v", got, want)
		}
	}
	if got := value(t, call(t, f("stat"), map[string]any{"path": "log"}))["kind"]; got != "nothing" {
		t.Errorf("got %v", got)
	}
	fails(t, call(t, f("read"), map[string]any{"path": "log"}), "log")
}

func TestBinaryContentIsBytes(t *testing.T) {
	f, dir := fileTools(t)
	blob := []byte{0, 0xff, 0xfe, 'a'}
	value(t, call(t, f("write"), map[string]any{"path": "raw", "bytes": blob}))
	// as a model writes it
	value(t, call(t, f("write"), map[string]any{"path": "model", "bytes": base64.StdEncoding.EncodeToString(blob)}))
	if onDisk(t, dir, "raw") != string(blob) || onDisk(t, dir, "model") != string(blob) {
		t.Errorf("got %q and %q", onDisk(t, dir, "raw"), onDisk(t, dir, "model"))
	}
	if got, ok := value(t, call(t, f("read"), map[string]any{"path": "raw"}))["bytes"].([]byte); !ok ||
		!bytes.Equal(got, blob) {
		t.Errorf("got %v, want the bytes", got)
	}
	value(t, call(t, f("write"), map[string]any{"path": "empty", "text": ""}))
	if got := value(t, call(t, f("read"), map[string]any{"path": "empty"}))["text"]; got != "" ||
		onDisk(t, dir, "empty") != "" {
		t.Errorf("got %v", got)
	}
}

// A file that is git's by another name is not added to.
func TestNothingIsAddedToAFileOfTwoNames(t *testing.T) {
	f, dir := fileTools(t)
	config := filepath.Join(dir, ".git", "config")
	err := errors.Join(os.Mkdir(filepath.Dir(config), 0o700), os.WriteFile(config, []byte("[core]\n"), 0o600),
		os.Link(config, filepath.Join(dir, "notes")))
	if err != nil {
		t.Skip("no hard links here: ", err)
	}
	fails(t, call(t, f("append"), map[string]any{"path": "notes", "text": "x"}), "hard link")
	value(t, call(t, f("write"), map[string]any{"path": "notes", "text": "x"}))
	value(t, call(t, f("append"), map[string]any{"path": "notes", "text": "y"}))
	if got := onDisk(t, config); got != "[core]\n" {
		t.Errorf("git's file holds %q", got)
	}
}

func TestNoPathLeadsOutOfTheFolder(t *testing.T) {
	f, dir := fileTools(t)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("private"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"file": secret, "folder": outside, "up": "../" + filepath.Base(outside)} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	up := "../" + filepath.Base(filepath.Dir(outside)) + "/" + filepath.Base(outside)
	paths := []string{secret, "file", "folder/secret", "up/secret", "../secret", "a/../../secret",
		"folder/../../secret", up + "/secret", strings.Repeat("../", 40) + secret[1:], "./file", "folder//secret",
		"a\x00b", strings.Repeat("x/", 5000)}
	for _, p := range paths {
		fails(t, call(t, f("read"), map[string]any{"path": p}))
		fails(t, call(t, f("append"), map[string]any{"path": p + "", "text": "x"}))
		fails(t, call(t, f("list"), map[string]any{"path": filepath.Dir(p) + "/folder"}))
	}
	for _, p := range []string{"folder/new", "up/new", "../new", outside + "/new", "folder/sub/new"} {
		fails(t, call(t, f("write"), map[string]any{"path": p, "text": "x"}))
		fails(t, call(t, f("append"), map[string]any{"path": p, "text": "x"}))
	}
	for _, p := range []string{"folder/secret", "up/secret", "../secret", secret, ".", "", "/"} {
		fails(t, call(t, f("remove"), map[string]any{"path": p}), "path")
	}
	value(t, call(t, f("remove"), map[string]any{"path": "file"})) // the link itself is inside
	names, err := os.ReadDir(outside)
	if err != nil || len(names) != 1 || onDisk(t, secret) != "private" {
		t.Errorf("got %v, %q, %v: something outside was changed", names, onDisk(t, secret), err)
	}
}

// TestGitsOwnFilesAreNotWritten keeps settings and hooks, which name programs that git runs, from agents that may write
// files.
func TestGitsOwnFilesAreNotWritten(t *testing.T) {
	f, dir := fileTools(t)
	config := filepath.Join(dir, "sub", ".git", "config")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{".git", ".git/config", "sub/.git/config", "sub/.git/hooks/pre-commit", ".GIT/config",
		"new/.git/config"} {
		fails(t, call(t, f("write"), map[string]any{"path": p, "text": "x"}), "git")
		fails(t, call(t, f("append"), map[string]any{"path": p, "text": "x"}), "git")
		fails(t, call(t, f("remove"), map[string]any{"path": p}), "git")
	}
	if got := onDisk(t, config); got != "kept" {
		t.Errorf("it has %q", got)
	}
	value(t, call(t, f("read"), map[string]any{"path": "sub/.git/config"}))
	value(t, call(t, f("write"), map[string]any{"path": ".gitignore", "text": "x"}))
}

func TestOnlyOrdinaryFilesOfBoundedSize(t *testing.T) {
	f, dir := fileTools(t)
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	mkfifo(t, filepath.Join(dir, "pipe"))
	for _, p := range []string{"sub", "pipe", "."} { // a pipe must not make the call wait for ever
		fails(t, call(t, f("read"), map[string]any{"path": p}))
		fails(t, call(t, f("write"), map[string]any{"path": p, "text": "x"}))
		fails(t, call(t, f("append"), map[string]any{"path": p, "text": "x"}))
	}
	fails(t, call(t, f("list"), map[string]any{"path": "pipe"}), "not a folder")
	big := make([]byte, tool.MaxFile+1)
	fails(t, call(t, f("write"), map[string]any{"path": "big", "bytes": big}), "in parts")
	if err := os.WriteFile(filepath.Join(dir, "big"), big, 0o600); err != nil {
		t.Fatal(err)
	}
	v := cut(t, call(t, f("read"), map[string]any{"path": "big"}))
	if got := len(v["text"].(string)); got != tool.MaxFile || v["truncated"] != true {
		t.Errorf("got %d bytes, truncated %v", got, v["truncated"])
	}
	for _, args := range []map[string]any{
		{"path": "x"}, {"path": "x", "text": "a", "bytes": []byte("b")}, {"text": "a"}, {"path": 1, "text": "a"},
		{"path": "x", "text": "a", "mode": 511},
	} {
		fails(t, call(t, f("write"), args))
	}
	fails(t, call(t, f("read"), map[string]any{"path": "big", "offset": -1}), "offset")
}

func TestAReaderSeesTheOldContentOrTheNew(t *testing.T) {
	f, dir := fileTools(t)
	contents := []string{strings.Repeat("a", 1<<18), strings.Repeat("b", 1<<18)}
	value(t, call(t, f("write"), map[string]any{"path": "x", "text": contents[0]}))
	if err := os.Chmod(filepath.Join(dir, "x"), 0o662); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for i := range 2 {
		wg.Go(func() {
			for range 20 {
				call(t, f("write"), map[string]any{"path": "x", "text": contents[i]})
			}
		})
	}
	go func() { wg.Wait(); close(stop) }()
	for done := false; !done; {
		select {
		case <-stop:
			done = true
		default:
		}
		if got := onDisk(t, dir, "x"); got != contents[0] && got != contents[1] {
			t.Fatalf("got a mixture of %d bytes", len(got))
		}
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 1 {
		t.Errorf("got %v, %v, want the file alone", names, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "x")); err != nil || info.Mode().Perm() != 0o662 {
		t.Errorf("got mode %v, %v, want that of the file before", info.Mode(), err)
	}
}
