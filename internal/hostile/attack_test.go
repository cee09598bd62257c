package hostile

import (
	"bytes"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
)

// stranger is a key nobody knows.
func stranger(t *testing.T) *perdure.Signer {
	t.Helper()
	return have(perdure.GenerateSigner("mallory"))(t)
}

// attack is a memory in the making. Whoever writes to it does so by the library alone: there is no check that an
// attacker has to pass.
type attack struct {
	t       *testing.T
	agent   *perdure.Agent
	entries []*perdure.Entry
	by      *perdure.Signer
	at      time.Time // the clock of the author
	policy  perdure.Hash
}

// begin begins an agent.
func begin(t *testing.T, by *perdure.Signer, g perdure.Genesis) *attack {
	t.Helper()
	if g.Intent.Name == "" {
		g.Intent.Name, g.Intent.Goal = "weather", "tell the weather"
	}
	if g.Charter.Scope == "" {
		g.Charter.Scope = "home"
	}
	at := time.Now().Add(-time.Hour)
	e := have(by.Genesis(g, at))(t)
	return &attack{t: t, agent: have(perdure.Begin(e))(t), entries: []*perdure.Entry{e}, by: by, at: at}
}

// weather is an agent with nothing remarkable about it.
func weather(t *testing.T, by *perdure.Signer) *attack { return begin(t, by, perdure.Genesis{}) }

// reading is the memory in a file.
func reading(t *testing.T, file string, by *perdure.Signer) *attack {
	t.Helper()
	f := have(os.Open(file))(t)
	defer func() { _ = f.Close() }() // it is only read
	r := have(capsule.NewReader(f, capsule.ReadOptions{}))(t)
	a := &attack{t: t, by: by, at: time.Now()}
	for e, err := range r.Entries() {
		must(t, err)
		a.entries = append(a.entries, e)
	}
	a.agent = have(new(perdure.Agent).Apply(a.entries...))(t)
	return a
}

// as goes on in somebody else's name.
func (a *attack) as(by *perdure.Signer) *attack {
	a.by = by
	return a
}

// write adds one commit.
func (a *attack) write(bodies ...perdure.Body) *attack {
	a.t.Helper()
	drafts := make([]perdure.Draft, len(bodies))
	for i, b := range bodies {
		drafts[i].Body, drafts[i].Policy = b, a.policy
	}
	entries, next, err := a.by.Commit(a.agent, a.at, drafts...)
	must(a.t, err)
	a.entries, a.agent = append(a.entries, entries...), next
	return a
}

// tell adds a notice.
func (a *attack) tell(name string, n perdure.Notice) *attack {
	a.t.Helper()
	return a.write(perdure.Event{Name: name, By: a.by.Name, Notice: n})
}

// pay is a call that writes the ledger, by the shell.
func pay(t *testing.T) perdure.Execute {
	t.Helper()
	return perdure.Execute{Tool: "shell", Args: have(perdure.DataOf(map[string]any{"script": "echo paid >>ledger"}))(t)}
}

// note is a call that writes the ledger, by writing a file, which may be repeated.
func note(t *testing.T) perdure.Execute {
	t.Helper()
	return perdure.Execute{Tool: "files.write", Args: have(perdure.DataOf(
		map[string]any{"path": "ledger", "text": "paid"}))(t)}
}

// open adds a decision that allows an action and has no outcome, as a node leaves it that died. It claims to be of a
// class, and that its time is up.
func (a *attack) open(x perdure.Execute, class perdure.Effect) *attack {
	a.t.Helper()
	return a.write(perdure.Decision{
		Action: x, Verdict: perdure.Verdict{Answer: perdure.Allow, Rules: []string{"all"}}, Effect: class,
		Deadline: perdure.TimeOf(a.at.Add(time.Second)),
	})
}

// ask adds a decision that asks people about an action.
func (a *attack) ask(x perdure.Action, v perdure.Verdict) *attack {
	a.t.Helper()
	v.Answer = perdure.Ask
	if v.Asked == nil {
		v.Asked = []string{"owner"}
	}
	return a.write(perdure.Decision{Action: x, Verdict: v, Effect: perdure.Once})
}

// asked is the question that is open.
func (a *attack) asked() perdure.Asking {
	a.t.Helper()
	asks := a.agent.Fold().Asks
	if len(asks) != 1 {
		a.t.Fatalf("the memory has %d questions, want 1", len(asks))
	}
	return asks[0]
}

// vote adds a vote for what is asked.
func (a *attack) vote() *attack {
	a.t.Helper()
	q := a.asked()
	return a.tell("approval", perdure.Approval{Decision: q.Decision, Digest: q.Digest, Approve: true})
}

// snapshot adds what the memory comes to, and a lie.
func (a *attack) snapshot(lie func(*perdure.Fold)) *attack {
	a.t.Helper()
	f := *a.agent.Fold()
	f.Paused, f.Open, f.Children = slices.Clone(f.Paused), slices.Clone(f.Open), slices.Clone(f.Children)
	lie(&f)
	return a.write(perdure.Snapshot{Fold: f})
}

// dropped drops the body of every entry but the last ones, and of the first if it says so.
func (a *attack) dropped(last int, genesis bool) *attack {
	for i, e := range a.entries[:len(a.entries)-last] {
		if i > 0 || genesis {
			a.entries[i] = e.Drop()
		}
	}
	return a
}

// file writes the memory as a capsule.
func (a *attack) file(path string, o capsule.Options) string {
	a.t.Helper()
	s := new(perdure.MemStore)
	id := a.entries[0].ID()
	must(a.t, s.Put(a.t.Context(), id, a.entries...))
	var b bytes.Buffer
	_, err := capsule.Export(a.t.Context(), &b, s, id, o)
	must(a.t, err)
	must(a.t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

// capsule is the memory as a capsule of the place.
func (a *attack) capsule(p *place, name string) string {
	a.t.Helper()
	a.file(p.path(name), capsule.Options{})
	return "./" + name
}

// dropIn puts the memory into the folder of a place, as a file that came by synchronisation.
func (a *attack) dropIn(p *place, name string) {
	a.t.Helper()
	_ = os.Remove(p.path("agents", name)) // there may be none
	must(a.t, capsule.CreateLog(p.path("agents", name), capsule.Text, a.entries...))
}

// fork is a copy that goes on by itself.
func (a *attack) fork(t *testing.T, by *perdure.Signer) *attack {
	b := *a
	b.t, b.by, b.entries, b.at = t, by, slices.Clone(a.entries), time.Now()
	return &b
}

// last is the name of the last entry.
func (a *attack) last() perdure.Hash { return a.entries[len(a.entries)-1].Name }

// called is the genesis of an agent of a name.
func called(name, goal string) perdure.Genesis {
	return perdure.Genesis{Intent: perdure.Intent{Name: name, Goal: goal}}
}

// allowed is the verdict of a policy that permits.
var allowed = perdure.Verdict{Answer: perdure.Allow}
