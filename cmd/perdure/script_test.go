package main

import (
	"bytes"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/natstest"
)

func TestMain(m *testing.M) {
	natstest.Main()
	testscript.Main(m, map[string]func(){"perdure": main, "perdure-later": laterMain, "wordserver": serveWords})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, ".user")) // root could make the one testscript names
			return writeSamples(env.WorkDir)
		},
		Condition: func(name string) (bool, error) {
			if name == "mounts" {
				dir := t.TempDir()
				return mountSmall(dir, "1m") == nil && exec.Command("umount", dir).Run() == nil, nil
			}
			if name != "root" {
				return false, fmt.Errorf("there is no condition %q", name)
			}
			return os.Geteuid() == 0, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exitsWith,
			"unhex":     unhex,
			"flip":      flip,
			"spoil":     spoil,
			"sql":       runSQL,
			"smalldisk": smallDisk,
			"shorten":   shorten,
			"provider":  startProvider,
			"looking":   looking,
			"later":     writeLater,
			"nats":      startNATS,
			"natsrot":   rotNATS,
			"agents":    func(ts *testscript.TestScript, _ bool, args []string) { writeAgents(ts, t, args) },
		},
	})
}

// exitsWith runs a program and compares its exit code: exits 5 perdure canon check -.
func exitsWith(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code: got %d, want %d", got, want)
	}
}

// unhex writes bytes given as hexadecimal to a file: unhex value.cbor 1801.
func unhex(ts *testscript.TestScript, _ bool, args []string) {
	b, err := hex.DecodeString(strings.Join(args[1:], ""))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o600))
}

// flip copies a file with the lowest bit of one byte changed, counted from its end: flip a.entry b.entry 1.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	b := []byte(ts.ReadFile(args[0]))
	back, err := strconv.Atoi(args[2])
	ts.Check(err)
	b[len(b)-back] ^= 1
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b, 0o600))
}

// spoil changes one bit of every place in a file where a text stands, as a disk does that rots: spoil home/store.db
// word.
func spoil(ts *testscript.TestScript, _ bool, args []string) {
	b := []byte(ts.ReadFile(args[0]))
	n := bytes.Count(b, []byte(args[1]))
	if n == 0 {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	worse := []byte(args[1])
	worse[len(worse)/2] ^= 1
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.ReplaceAll(b, []byte(args[1]), worse), 0o600))
}

// runSQL changes a database behind the store's back: sql home/store.db 'DELETE FROM words'.
func runSQL(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec(strings.Join(args[1:], " "))
	ts.Check(errors.Join(err, db.Close()))
}

// shorten takes the last lines, or bytes, off a file: shorten x.agent 1 lines.
func shorten(ts *testscript.TestScript, _ bool, args []string) {
	b := []byte(ts.ReadFile(args[0]))
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	if args[2] == "lines" {
		for range n {
			b = b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1]
		}
	} else {
		b = b[:len(b)-n]
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o600))
}

// startNATS starts a NATS server until the script ends, with the URL of a store in a variable: nats URL. With lax it
// does not sync always.
func startNATS(ts *testscript.TestScript, _ bool, args []string) {
	var options []natstest.Option
	if len(args) > 1 && args[1] == "lax" {
		options = append(options, natstest.Lax)
	}
	s, err := natstest.New(options...)
	ts.Check(err)
	ts.Defer(s.Remove)
	ts.Setenv(args[0], s.URL("agents"))
	servers.Store(s.URL("agents"), s)
}

var servers sync.Map // those of scripts, by URL

// rotNATS changes a bit of the newest message with a text in the log of a store: natsrot $URL text.
func rotNATS(ts *testscript.TestScript, _ bool, args []string) {
	s, _ := servers.Load(args[0])
	server := s.(*natstest.Server)
	ts.Check(server.Stop())
	ts.Check(server.Flip("PERDURE_agents_log", []byte(args[1])))
	ts.Check(server.Begin())
}

// smallDisk mounts a file system of a few bytes in a folder until the script ends: smalldisk mnt 3m. See the condition
// mounts.
func smallDisk(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(mountSmall(dir, args[1]))
	ts.Defer(func() { _ = exec.Command("umount", "-l", dir).Run() })
}

func mountSmall(dir, size string) error {
	return exec.Command("mount", "-t", "tmpfs", "-o", "mode=700,size="+size, "tmpfs", dir).Run()
}

// writeSamples writes a genesis entry, the memory of two that begins with it, and that memory without its last entry's
// signature.
func writeSamples(dir string) error {
	memory, err := sampleMemory(time.UnixMilli(1_700_000_000_000))
	if err != nil {
		return err
	}
	for name, b := range map[string][]byte{
		"genesis.entry":  memory[0],
		"advice.entry":   memory[1],
		"agent.memory":   bytes.Join(memory, nil),
		"cut.memory":     bytes.Join(memory[:2], nil),
		"missing.memory": bytes.Join([][]byte{memory[0], memory[2]}, nil),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// looking runs a program and compares everything in the working folder before and after: contents, modes and times of
// files.
func looking(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: looking PROGRAM [ARG...]")
	}
	before := everything(ts)
	ts.Check(ts.Exec(args[0], args[1:]...))
	after := everything(ts)
	for path, was := range before {
		if is, there := after[path]; !there {
			ts.Fatalf("%s: %s is gone", strings.Join(args, " "), path)
		} else if is != was {
			ts.Fatalf("%s: %s was changed: %s, before %s", strings.Join(args, " "), path, is, was)
		}
	}
	for path := range after {
		if _, there := before[path]; !there {
			ts.Fatalf("%s: %s was made", strings.Join(args, " "), path)
		}
	}
}

// everything is what lies in the working folder.
func everything(ts *testscript.TestScript) map[string]string {
	out := map[string]string{}
	ts.Check(filepath.Walk(ts.MkAbs("."), func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = fmt.Sprintf("%s %s %d %s", info.Mode(), info.ModTime().Format(time.RFC3339Nano), len(b),
			perdure.HashOf(b))
		return err
	}))
	return out
}
