//go:build unix

package torture

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/dir"
	"github.com/perdure/perdure/store/sqlite"
)

// nodeKills is how often the real node is killed in a round.
const nodeKills = 5

// nodeParts hurt the real program at work.
func nodeParts() []part {
	return []part{
		{name: "node killed", round: nodeKilled, needs: needsProgram, sabotage: "a disk that goes back in time"},
		{name: "orphans of a node", round: orphans, needs: needsOrphans, sabotage: "a command that leaves its group"},
		{name: "orphans that left their group", round: runaways, needs: needsOrphans,
			sabotage: "a command that drops its mark"},
	}
}

// line writes a line to the ledger, which is an effect of class once.
const line = "echo NAME-TURN >> ledger; sleep 0.05"

// nodeKilled kills a node again and again while people write to its agents, settles what is in doubt, and lets the
// agents end.
func nodeKilled(r *round) {
	kind := one(r, "sqlite", "dir")
	h := newHome(r, "", kind)
	for i := range 3 {
		h.agent(fmt.Sprint("agent", i), line, line, line, line)
	}
	h.ok("new", "listen", "--name", "listener", "--advisor", "nobody")
	var acknowledged []string
	send := func(word string) {
		name := one(r, append(h.names, "listener", "listener")...)
		if _, err := h.try("send", name, word); err == nil {
			acknowledged = append(acknowledged, name+" "+word)
		} else if !strings.Contains(err.Error(), "agent has ended") {
			r.Wrong("%v", err)
		}
	}
	before := h.file("before")
	for i := range nodeKills {
		p := h.start(h.node("node")...)
		begun := time.Now()
		send(fmt.Sprint("word", i))
		<-time.After(time.Until(begun.Add(time.Duration(r.rng.Int64N(int64(400 * time.Millisecond))))))
		p.kill()
		r.faults++
		if r.sabotaged && i == 1 {
			r.must(copyTree(h.folder, before))
			h.ok("send", "listener", "kept")
			acknowledged = append(acknowledged, "listener kept")
		}
		if kind == "sqlite" && i == 0 {
			h.locked(func() { h.looks(r) })
		}
		h.settle(open)
	}
	if r.sabotaged {
		r.must(errors.Join(os.RemoveAll(h.folder), os.Rename(before, h.folder)))
	} else {
		h.finish()
	}
	h.audit(acknowledged)
}

// finish lets the agents come to their end.
func (h *home) finish() {
	h.settle(open)
	p := h.start(h.node("node")...)
	h.until("all agents have ended", func() bool {
		return strings.Count(h.ok("ls", "--jq", ".[].state"), "terminated") == len(h.names)
	})
	p.kill()
}

// looks does everything that only looks.
func (h *home) looks(r *round) {
	for _, args := range [][]string{{"ls"}, {"show", h.names[0]}, {"verify", h.names[0]},
		{"export", h.names[0], h.file("look.agent")}} {
		begun := time.Now()
		if _, err := h.try(args...); err != nil {
			r.Wrong("%v", err)
		}
		if took := time.Since(begun); took > 2*lookLimit {
			r.Wrong("perdure %s took %v", args[0], took)
		}
	}
	_ = os.Remove(h.file("look.agent")) // it may not be there
}

// locked calls f while a transaction that writes is open, as one of a process that was stopped is.
func (h *home) locked(f func()) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(h.store, storeFile)+"?mode=rw&_txlock=immediate")
	h.r.must(err)
	tx, err := db.Begin()
	h.r.must(err)
	f()
	h.r.must(errors.Join(tx.Rollback(), db.Close()))
}

// opened is the store, to look at.
func (h *home) opened() store {
	var s store
	var err error
	if h.folder != h.store {
		s, err = dir.Open(h.folder, dir.Options{Look: true})
	} else {
		s, err = sqlite.Open(context.Background(), filepath.Join(h.store, storeFile), sqlite.Options{Look: true})
	}
	h.r.must(err)
	return s
}

// audit holds the agents against the ledger and what was acknowledged.
func (h *home) audit(acknowledged []string) {
	s := h.opened()
	defer closed(h.r.t, s)
	said := map[string]bool{}
	did := map[string]bool{} // what memories say happened
	for l, err := range s.List(context.Background(), perdure.Filter{}) {
		h.r.must(err)
		a, err := checkAgent(context.Background(), s, l.Agent, func(e *perdure.Entry) {
			if ev, ok := e.Content().(perdure.Event); ok {
				said[l.Name+" "+ev.Name] = true
			}
		})
		if err != nil {
			h.r.Wrong("agent %s: %v", l.Name, err)
			continue
		}
		for _, done := range scriptsOf(s, a.ID()) {
			did[done] = true
		}
	}
	for _, word := range acknowledged {
		if h.r.checked++; !said[word] {
			h.r.Lost("%q was acknowledged and is not there", word)
		}
	}
	for line, n := range h.ledger() {
		h.r.checked++
		if n > 1 {
			h.r.Doubled("%s happened %d times", line, n)
		}
		if !did[line] {
			h.r.Lost("%s happened, and no memory says so", line)
		}
	}
}

// scriptsOf is what an agent's scripts wrote, by what its memory says of them.
func scriptsOf(s perdure.Store, id perdure.AgentID) (lines []string) {
	scripts := map[perdure.Hash]string{}
	advice := map[perdure.Hash][]perdure.Action{}
	done := func(d perdure.Hash, signal perdure.Signal) {
		if _, rest, ok := strings.Cut(scripts[d], "echo "); ok && signal == perdure.OK {
			lines = append(lines, strings.Fields(rest)[0])
		}
	}
	for e, err := range perdure.Memory(context.Background(), s, id) {
		if err != nil {
			return nil
		}
		switch b := e.Content().(type) {
		case perdure.Advice:
			advice[e.Name] = b.Actions
		case perdure.Decision:
			action := b.Action
			if action == nil && len(advice[b.Advice]) > int(b.Index) {
				action = advice[b.Advice][b.Index]
			}
			if x, ok := action.(perdure.Execute); ok {
				scripts[e.Name] = fmt.Sprint(x.Args.Value())
			}
		case perdure.Outcome:
			done(b.Decision, b.Signal)
		case perdure.Event:
			if n, ok := b.Notice.(perdure.Settle); ok {
				done(n.Decision, n.Signal)
			}
		}
	}
	return lines
}

func needsOrphans() string { return needsLinux() + needsProgram() }

// needsLinux says why a part that looks into /proc, or relies on what only Linux does, cannot be done.
func needsLinux() string {
	if runtime.GOOS != "linux" {
		return "it is for Linux only"
	}
	return ""
}

// orphans kills a node while a command of it runs in the background: it must be gone, and do nothing more.
func orphans(r *round) {
	h := newHome(r, "", "sqlite")
	for _, name := range []string{"alive", "gate"} {
		r.must(syscall.Mkfifo(h.file("work/"+name), 0o600))
	}
	script := "(exec 3>alive; echo NAME-TURN >> ledger; read x < gate; echo NAME-late >> ledger) & wait"
	wait := time.Minute
	if r.sabotaged {
		r.must(os.WriteFile(h.file("work/away"),
			[]byte("exec 3>alive; echo away-0 >> ledger; read x < gate; echo away-late >> ledger\n"), 0o600))
		script, wait = "setsid sh away & wait", 500*time.Millisecond
	}
	h.agent("away", script)
	alive, err := os.OpenFile(h.file("work/alive"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	r.must(err)
	defer closed(r.t, alive)
	p := h.start(h.node("node")...)
	h.until("the command runs", func() bool { return len(h.ledger()) > 0 })
	p.kill()
	r.faults++
	r.must(alive.SetReadDeadline(time.Now().Add(wait)))
	if _, err := io.ReadAll(alive); err != nil {
		r.Wrong("what the command started lives on: %v", err)
		gate, err := os.OpenFile(h.file("work/gate"), os.O_WRONLY, 0) // let it end
		r.must(errors.Join(err, gate.Close()))
		h.until("what lived on has ended", func() bool { return h.ledger()["away-late"] > 0 })
		return
	}
	if r.checked++; h.ledger()["away-late"] > 0 {
		r.Doubled("a command went on after its node was killed")
	}
	h.finish()
	h.audit(nil)
}

// runaways kills a node whose command has left its group: nobody can say what came of it while that runs.
func runaways(r *round) {
	h := newHome(r, "", "sqlite")
	r.must(syscall.Mkfifo(h.file("work/gate"), 0o600))
	r.must(os.WriteFile(h.file("work/run"), []byte("echo away-0 >> ledger; read x < gate; echo away-late >> ledger\n"),
		0o600))
	script := "setsid sh run & wait"
	if r.sabotaged {
		script = "env -u PERDURE_KEY " + script
	}
	h.agent("away", script)
	p := h.start(h.node("node")...)
	h.until("the command runs", func() bool { return len(h.ledger()) > 0 })
	p.kill()
	r.faults++
	decision := strings.TrimSpace(h.ok("show", "away", "--jq", open+" | .decision"))
	_, err := h.try("settle", "away", decision, "--signal", "failed")
	if r.checked++; err == nil || !strings.Contains(err.Error(), "still under way") {
		r.Wrong("an effect whose process runs on was settled: %v", err)
	}
	gate, err := os.OpenFile(h.file("work/gate"), os.O_WRONLY, 0) // let it end
	r.must(errors.Join(err, gate.Close()))
	h.until("what ran away has ended", func() bool { return h.ledger()["away-late"] > 0 })
	if r.sabotaged {
		return
	}
	h.until("it can be settled", func() bool {
		_, err := h.try("settle", "away", decision, "--signal", "ok")
		return err == nil
	})
	h.finish()
}
