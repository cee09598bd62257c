package home_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/home"
)

// A file is run, while the store of its home has the agent, or gets it meanwhile: nodes leave that one alone, until the
// file is not run any more. If the process is killed, they go on as soon as its lease is over.
func TestNodesLeaveAnAgentAloneWhoseFileIsRun(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct{ scheme, comes string }{
		"in a database":          {"sqlite:", ""},
		"comes into a database":  {"sqlite:", "later"},
		"in a folder":            {"dir:", ""},
		"comes into a folder":    {"dir:", "later"},
		"dropped into a folder":  {"dir:", "dropped"},
		"its file is the folder": {"dir:", "same"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, out := t.TempDir(), t.TempDir()
			url := of.scheme + filepath.Join(at, "agents")
			file, old := filepath.Join(out, "x.agent"), filepath.Join(out, "old.agent")
			var id perdure.AgentID
			within(t, &home.Home{URL: url}, func(ctx context.Context, s perdure.Store) error {
				h := &home.Home{URL: url, Acts: true}
				c, err := capsule.OpenStore(file)
				if err == nil {
					err = h.Locate()
				}
				if err != nil {
					return err
				}
				id = agentIn(ctx, t, h, c, "x").ID() // it has the seat of the home's store, and is not in it
				_, err = h.Export(ctx, c, id, home.Export{Options: capsule.Options{Depth: perdure.Full}, File: old})
				if err = errors.Join(err, c.Close()); err != nil || of.comes == "later" || of.comes == "dropped" {
					return err
				}
				return imports(ctx, h, s, old)
			})
			if of.comes == "same" {
				found, err := filepath.Glob(filepath.Join(at, "agents", "*.agent"))
				if err != nil || len(found) != 1 {
					t.Fatalf("%v, %v", found, err)
				}
				file = found[0]
			}
			h := &home.Home{URL: url, Acts: true}
			err := h.UseFor(t.Context(), file, func(ctx context.Context, s perdure.Store, _ string) error {
				ctx, done, err := h.Alone(ctx, id)
				if err != nil {
					return err
				}
				if of.comes == "same" { // the lock of the file itself keeps others off
					return errors.Join(ctx.Err(), done())
				}
				besides(t, url, id, of.comes, old)
				return done()
			})
			if err != nil {
				t.Fatal(err)
			}
			within(t, &home.Home{URL: url}, func(ctx context.Context, s perdure.Store) error {
				h := &home.Home{URL: url, Acts: true}
				if err := h.Locate(); err != nil {
					return err
				}
				return works(ctx, h, s, id)
			})
		})
	}
}

// besides is what others of the home do while the file of an agent is run.
func besides(t *testing.T, url string, id perdure.AgentID, comes, old string) {
	t.Helper()
	within(t, &home.Home{URL: url}, func(ctx context.Context, s perdure.Store) error {
		h := &home.Home{URL: url, Acts: true}
		if err := h.Locate(); err != nil {
			return err
		}
		switch comes {
		case "later":
			if err := imports(ctx, h, s, old); err != nil {
				return err
			}
		case "dropped":
			text, err := os.ReadFile(old)
			if err == nil {
				err = os.WriteFile(filepath.Join(url[len("dir:"):], "dropped.agent"), text, 0o600)
			}
			if err != nil {
				return err
			}
		}
		if err := works(ctx, h, s, id); !errors.Is(err, perdure.ErrConflict) {
			t.Errorf("a node works on it: %v", err)
		}
		late := time.Now().Add(time.Minute)
		for look, err := range s.Due(ctx, late) {
			if err == nil && look.Agent == id {
				return nil
			}
		}
		t.Error("nobody looks at it for more than a minute if the process is killed")
		return nil
	})
}

// works has a node of a home work on an agent.
func works(ctx context.Context, h *home.Home, s perdure.Store, id perdure.AgentID) error {
	n, err := h.Node(ctx, s)
	if err != nil {
		return err
	}
	_, err = n.RunAgent(ctx, id)
	return err
}

// imports takes the agent of a file in, to run at once.
func imports(ctx context.Context, h *home.Home, s perdure.Store, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	_, err = h.Import(ctx, s, f, home.Intake{ImportOptions: capsule.ImportOptions{Ready: true}})
	return errors.Join(err, f.Close())
}
