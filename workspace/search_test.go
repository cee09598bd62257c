package workspace_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// talk is a conversation of two people, a turn each line.
var talk = []string{
	"Caroline: I went to the support group yesterday and it was so powerful.",
	"Melanie: That is great. I painted a sunrise by the lake last week.",
	"Caroline: My adoption interview is next month, and I am nervous.",
	"Melanie: We are going camping in the mountains with the kids in July.",
	"Caroline: I researched adoption agencies that help single parents.",
	"Melanie: My running shoes are purple, I bought them for the charity race.",
	"Caroline: The counselling certificate takes two years.",
	"Melanie: The pottery class made me a blue bowl.",
}

func TestQuestionsFindWhatWasSaid(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.tell(talk...)
		for question, want := range map[string]string{
			"What did Melanie paint recently?":                        "sunrise",
			"When is Caroline going to have her adoption interviews?": "interview",
			"What kind of agencies did Caroline research?":            "agencies",
			"Where do they go to camp?":                               "camping",
			"What colour are the shoes for running a charity race?":   "purple",
			"who made pottery?":                                       "bowl",
		} {
			found := w.find(w.Owner(), question)
			if len(found) == 0 || !strings.Contains(found[0].Snippet, want) &&
				!strings.Contains(strings.NewReplacer("[", "", "]", "").Replace(found[0].Snippet), want) {
				t.Errorf("%s: found %v, want what has %q", question, snippets(found), want)
			} else if found[0].Agent != id || found[0].Kind != workspace.KindTurn || found[0].Seq == 0 {
				t.Errorf("%s: found %+v, want a turn of agent %s", question, found[0], id.Short())
			}
		}
		for _, hostile := range []string{`"`, `" OR *`, `NEAR(a b)`, `title: x`, `a AND`, `-`, `(((`, `col:"x`,
			"\x00"} {
			if _, err := w.Owner().Find(t.Context(), workspace.Search{Text: hostile + " adoption"}); err != nil {
				t.Errorf("%q: %v", hostile, err)
			}
		}
	})
}

func snippets(found []*workspace.Found) (all []string) {
	for _, f := range found {
		all = append(all, f.Snippet)
	}
	return all
}

// tell makes an agent that is told things.
func (w *world) tell(lines ...string) perdure.AgentID {
	w.t.Helper()
	a, err := w.Node.Create(w.t.Context(), perdure.Genesis{
		Intent:  perdure.Intent{Name: "talk", Goal: "listen"},
		Charter: perdure.Charter{Scope: "acme/ops"}})
	if err != nil {
		w.t.Fatal(err)
	}
	if l, ok := w.store.(perdure.Lister); ok {
		if err := l.Index(w.t.Context(), a.Heads(), a.Listing(time.Now())); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, line := range lines {
		by, text, _ := strings.Cut(line, ": ")
		data, err := perdure.DataOf(map[string]any{"say": text})
		if err != nil {
			w.t.Fatal(err)
		}
		ev := perdure.Event{Name: "said", By: by, Data: data}
		if _, err := w.Node.Tell(w.t.Context(), a.ID(), ev); err != nil {
			w.t.Fatal(err)
		}
	}
	return a.ID()
}

func TestSearchesAreFiltered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, new(perdure.MemStore))
	r := w.as("coder")
	w.write(r, workspace.Draft{Path: "decisions/a.md", Text: "Use the blue widget.\n"})
	w.write(r, workspace.Draft{Path: "plans/b.md", Text: "Ship the widget, 部件 机器学习.\n"})
	w.write(r, workspace.Draft{Path: "agents/coder/c.md", Text: "The widget is odd.\n"})
	w.tell("ann: what about the widget?")
	paths := func(s workspace.Search) (all []string) {
		t.Helper()
		s.Text = "widget"
		found, err := w.Owner().Find(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			all = append(all, f.Path)
		}
		return all
	}
	if got := paths(workspace.Search{}); len(got) != 4 {
		t.Errorf("without a filter: %v, want all four", got)
	}
	if got := paths(workspace.Search{Kinds: []string{workspace.KindPlan}}); len(got) != 1 || got[0] != "plans/b.md" {
		t.Errorf("plans: %v", got)
	}
	if got := paths(workspace.Search{Visibility: &workspace.Visibility{Tier: workspace.Private}}); len(got) != 1 {
		t.Errorf("private: %v", got)
	}
	if got := paths(workspace.Search{Agent: "talk"}); len(got) != 1 || got[0] != "" {
		t.Errorf("of an agent: %v", got)
	}
	if got := paths(workspace.Search{Since: time.Now().Add(time.Hour)}); len(got) != 0 {
		t.Errorf("since later: %v", got)
	}
	if found := w.find(r, "机器"); len(found) != 1 || found[0].Path != "plans/b.md" {
		t.Errorf("characters without spaces: %v", snippets(found))
	}
}

// A search of one agent is of the one that is meant. Of several of one name none is taken, and one that the reader
// knows nothing of is as one that is not there.
func TestSearchesOfAnAgentAreOfTheOneThatIsMeant(t *testing.T) {
	t.Parallel()
	w := newWorld(t, new(perdure.MemStore))
	of := func(r *workspace.Reader, agent string) ([]*workspace.Found, error) {
		return r.Find(t.Context(), workspace.Search{Text: "widget", Agent: agent})
	}
	first, second := w.tell("ann: the widget is late"), w.tell("bob: the widget is lost")
	_, err := of(w.Owner(), "talk")
	if !errors.Is(err, perdure.ErrInvalid) || !strings.Contains(err.Error(), first.Short()) ||
		!strings.Contains(err.Error(), second.Short()) {
		t.Errorf("of two agents of that name: %v, want both named", err)
	}
	for _, id := range []string{second.String(), second.Short()} {
		if found, err := of(w.Owner(), id); err != nil || len(found) != 1 || found[0].Agent != second {
			t.Errorf("of %s: %v, %v", id, snippets(found), err)
		}
	}
	out := w.in("outsider", "elsewhere")
	for _, agent := range []string{"talk", first.String(), first.Short(), "coder"} {
		_, err := of(out, agent)
		if want := fmt.Sprintf("there is no agent %q", agent); err == nil || err.Error() != want ||
			!errors.Is(err, perdure.ErrNotFound) {
			t.Errorf("of %s, to one that does not see it: %v, want %s", agent, err, want)
		}
	}
	if found, err := of(w.in("mate", "acme/ops"), first.Short()); err != nil || len(found) != 1 {
		t.Errorf("of %s, to a team mate: %v, %v", first.Short(), snippets(found), err)
	}
	quiet := w.as("quiet")
	if found, err := of(quiet, "quiet"); err != nil || len(found) != 0 {
		t.Errorf("of one that said nothing: %v, %v", snippets(found), err)
	}
}

// Of what a frequent word finds, the newest are looked at first. Where those are not what was asked for, all are.
func TestWhatTheNewestTextsLackIsFoundInOlderOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, new(perdure.MemStore))
	r := w.as("coder")
	w.write(r, workspace.Draft{Path: "plans/old.md", Text: "Ship the widget.\n"})
	for i := range 3 {
		w.write(r, workspace.Draft{Path: fmt.Sprintf("decisions/%d.md", i), Text: "Use the blue widget.\n"})
	}
	w.Index.Grow(2)
	ask := workspace.Search{Text: "widget", Kinds: []string{workspace.KindPlan}, Limit: 1}
	found, err := w.Owner().Find(t.Context(), ask)
	if err != nil || len(found) != 1 || found[0].Path != "plans/old.md" {
		t.Errorf("found %v, %v; want the plan, which is older", found, err)
	}
}

// In a large index, where the rarest words of a question find texts, others find what these leave out: what a reader
// may not see does not change what they find.
func TestWhatIsHiddenHidesNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, new(perdure.MemStore))
	w.Index.Grow(2)
	in, out := w.in("insider", "acme/ops"), w.in("outsider", "elsewhere")
	for i := range 3 {
		w.write(out, workspace.Draft{Path: fmt.Sprintf("plans/%d.md", i), Text: "Ship the widget.\n"})
	}
	w.write(out, workspace.Draft{Path: "plans/crate.md", Text: "Ship the crate.\n"})
	const question = "ship the blue zirconium widget"
	before := paths(w.find(out, question))
	if len(before) != 4 {
		t.Fatalf("found %v, want four plans", before)
	}
	for i := range 20 {
		w.write(in, workspace.Draft{Path: fmt.Sprintf("plans/in-%d.md", i), Text: "Ship the blue widget.\n"})
	}
	w.write(in, workspace.Draft{Path: "plans/zirconium.md", Text: "Use zirconium.\n"})
	if after := paths(w.find(out, question)); !slices.Equal(after, before) {
		t.Errorf("found %v, want %v as before others wrote what is hidden here", after, before)
	}
	if found := w.find(in, question); len(found) != 10 || found[0].Path != "plans/zirconium.md" {
		t.Errorf("the insider finds %v, want the rarest word first, and more", paths(found))
	}
}

// paths are where something was found, in order.
func paths(found []*workspace.Found) (all []string) {
	for _, f := range found {
		all = append(all, f.Path)
	}
	slices.Sort(all)
	return all
}

// What has expired and what was pruned is not in the index any more, in no part of its file.
func TestWhatIsGoneLeavesTheIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t, stores["sqlite"](t))
	r := w.as("coder")
	ttl := 30 * time.Millisecond
	for ; ; ttl *= 4 { // a slow machine takes longer to look
		w.write(r, workspace.Draft{Path: "a.md", Text: fmt.Sprintf("the walrus sings for %s\n", ttl), TTL: ttl})
		found := w.find(r, "walrus")
		text, token := w.Index.Holds(t.Context(), "walru") // as it is stemmed
		if len(found) == 1 && text && token {
			break
		}
		if ttl > time.Minute {
			t.Fatalf("before its time: found %d, the index has text %v, word %v; want all", len(found), text, token)
		}
	}
	time.Sleep(ttl + 10*time.Millisecond)
	if found := w.find(r, "walrus"); len(found) != 0 {
		t.Errorf("found after its time: %v", found[0])
	}
	w.find(r, "anything")
	if _, err := r.Read(t.Context(), "a.md", nil); err == nil {
		t.Error("read after its time")
	}
	text, tokens := w.Index.Holds(t.Context(), "walru")
	if text || tokens {
		t.Errorf("the index still has it: text %v, words %v", text, tokens)
	}
}

// An index that is derived anew finds what the old one found; one that is damaged is derived anew by itself.
func TestAnIndexCanBeThrownAway(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r := w.as("coder")
		for i := range 20 {
			w.write(r, workspace.Draft{Path: fmt.Sprintf("n/%d.md", i), Text: fmt.Sprintf("number %d is special\n", i)})
		}
		w.write(r, workspace.Draft{Path: "n/3.md", Text: "number three is gone\n"})
		before := len(w.find(r, "special"))
		told := int64(0)
		if err := w.Index.Rebuild(t.Context(), w.store, func(done, _ int64) { told = done }); err != nil {
			t.Fatal(err)
		}
		if after := len(w.find(r, "special")); after != before || before == 0 || told == 0 {
			t.Errorf("found %d, want %d; progress %d", after, before, told)
		}
		if got := w.read(r, "n/3.md").Text; got != "number three is gone\n" {
			t.Errorf("read %q", got)
		}
	})
}

// Writing costs the same whatever was written before: the entries that are read for one more document are as many with
// a hundred as with thousands.
func TestWritingCostsTheSameHoweverMuchThereIs(t *testing.T) {
	t.Parallel()
	counted := &counting{MemStore: new(perdure.MemStore)}
	w := worldOf(t, counted, signer(t, "ann"), filepath.Join(t.TempDir(), workspace.IndexFile))
	r := w.as("coder")
	cost := func(n int) int64 {
		before := counted.read.Load()
		for i := range 20 {
			w.write(r, workspace.Draft{Path: fmt.Sprintf("c/%d-%d.md", n, i), Text: "one more\n"})
		}
		return counted.read.Load() - before
	}
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			w.write(r, workspace.Draft{Path: fmt.Sprintf("d/%d.md", i), Text: "some text\n"})
		}
	}
	fill(0, 100)
	small := cost(100)
	fill(100, 3000)
	if large := cost(3000); large > small+small/2 {
		t.Errorf("20 documents read %d entries with 3000 there, and %d with 100", large, small)
	}
}

// counting counts the entries that are read.
type counting struct {
	*perdure.MemStore
	read atomic.Int64
}

// Texts with other words of the same meaning are found, once a server says what is near what.
func TestMeaningIsFusedWithWords(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		var in struct {
			Model string   `json:"model"`
			Input []string `json:"input"`
		}
		if req.URL.Path != "/v1/embeddings" || json.NewDecoder(req.Body).Decode(&in) != nil || in.Model != "tiny" {
			http.Error(rw, "no", http.StatusBadRequest)
			return
		}
		asked.Add(int64(len(in.Input)))
		type one struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		var data []one
		for i, text := range in.Input {
			v := []float32{0.1, 0.1}
			if strings.Contains(text, "car") || strings.Contains(text, "automobile") {
				v[0] = 1
			}
			if strings.Contains(text, "tree") {
				v[1] = 1
			}
			data = append(data, one{i, v})
		}
		_ = json.NewEncoder(rw).Encode(map[string]any{"data": data})
	}))
	t.Cleanup(server.Close)
	w := newWorld(t, new(perdure.MemStore))
	w.Embed = &workspace.Embeddings{URL: server.URL + "/v1", Model: "tiny"}
	r := w.as("coder")
	w.write(r, workspace.Draft{Path: "a.md", Text: "The automobile is in the garage.\n"})
	w.write(r, workspace.Draft{Path: "b.md", Text: "The tree is in the garden.\n"})
	found := w.find(r, "where is my car")
	if len(found) == 0 || found[0].Path != "a.md" || asked.Load() == 0 {
		t.Errorf("found %v after %d texts were embedded; want a.md", snippets(found), asked.Load())
	}
	server.Close()
	if found := w.find(r, "tree garden"); len(found) == 0 || found[0].Path != "b.md" {
		t.Errorf("without the server: %v, want words alone", snippets(found))
	}
	other := w.in("stranger", "elsewhere")
	if found := w.find(other, "automobile"); len(found) != 0 {
		t.Errorf("a stranger finds %v", found[0])
	}
}
