// Command research is an agent that works for hours and needs no process for most of them: it reads a page of a
// library over HTTP, keeps a note, sleeps, and goes on in whatever process is there when it wakes.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor/script"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/tool"
)

//go:embed research.yaml
var turns string

//go:embed research.cedar
var rules []byte

//go:embed library
var pages embed.FS

func main() {
	file := flag.String("store", "", "keep the agents in this SQLite file (default: in memory)")
	hour := flag.Duration("hour", 2*time.Second, "how long an hour takes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	store, err := open(ctx, *file)
	if err == nil {
		err = errors.Join(serveAndRun(ctx, store, *hour), store.Close())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// open opens the store in a file, or one in memory if there is no file.
func open(ctx context.Context, file string) (perdure.Store, error) {
	if file == "" {
		return new(perdure.MemStore), nil
	}
	return sqlite.Open(ctx, file, sqlite.Options{})
}

// serveAndRun runs the agent beside a library on a port of its own.
func serveAndRun(ctx context.Context, store perdure.Store, hour time.Duration) error {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: library()}
	go func() { _ = server.Serve(at) }() // until it is closed
	return errors.Join(run(ctx, store, os.Stdout, "http://"+at.Addr().String(), hour), server.Close())
}

// library is the world outside: pages that somebody else has written.
func library() http.Handler {
	sub, err := fs.Sub(pages, "library")
	if err != nil {
		panic(err) // it is in this program
	}
	return http.FileServerFS(sub)
}

func run(ctx context.Context, store perdure.Store, out io.Writer, url string, hour time.Duration) error {
	key, err := perdure.GenerateSigner("researcher")
	if err != nil {
		return err
	}
	node, err := newNode(store, key, url, hour)
	if err != nil {
		return err
	}
	inputs, err := perdure.DataOf(map[string]any{"library": url})
	if err != nil {
		return err
	}
	a, err := node.Create(ctx, perdure.Genesis{
		Intent:  perdure.Intent{Name: "tardigrades", Goal: "find out what is known about tardigrades", Inputs: inputs},
		Charter: perdure.Charter{Scope: "research"},
	})
	if err != nil {
		return err
	}
	for process := 1; ; process++ {
		if node, err = newNode(store, key, url, hour); err != nil { // knows nothing of the one before
			return err
		}
		idle, err := node.RunAgent(ctx, a.ID())
		if err != nil {
			return err
		}
		if a, err = perdure.Load(ctx, store, a.ID()); err != nil {
			return err
		}
		if end := a.Fold().Ended; end != nil {
			fmt.Fprintf(out, "process %d: it has ended, %s:\n", process, end.Note)
			notes, _ := end.Result.Value().(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(notes)) {
				fmt.Fprintf(out, "  %s: %s\n", name, strings.TrimSpace(fmt.Sprint(notes[name])))
			}
			return nil
		}
		fmt.Fprintf(out, "process %d: it is %s with %d of 3 notes, and this process can go\n",
			process, a.Standing(nil, perdure.Place{}, time.Now()), len(a.Fold().Vars))
		if err := sleep(ctx, idle.Until.Go()); err != nil {
			return err
		}
	}
}

// newNode is all there is in a process.
func newNode(store perdure.Store, key *perdure.Signer, url string, hour time.Duration) (*perdure.Node, error) {
	said, err := script.Load(strings.NewReader(strings.ReplaceAll(turns, "1h", hour.String())))
	if err != nil {
		return nil, err
	}
	said.Store = store // for results of long ago
	set, err := policy.Parse(policy.File{Name: "research.cedar", Text: rules})
	if err != nil {
		return nil, err
	}
	web, err := tool.HTTP{Allow: []string{url}, Loopback: true}.Tools()
	if err != nil {
		return nil, err
	}
	return &perdure.Node{
		Store: store, Key: key, Policy: set, PolicyHash: set.Hash(),
		Tools:    append(tool.Builtins(store), web...),
		Advisors: map[string]perdure.Advisor{"": said},
	}, nil
}

// sleep waits until a time.
func sleep(ctx context.Context, until time.Time) error {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
