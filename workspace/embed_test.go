package workspace_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// meanings are groups of words that mean the same: each is a direction of its own.
var meanings = []string{"car automobile vehicle", "tree forest", "cake bread"}

// meant is the vector of a text: one direction for each meaning, and one for what means none of them.
func meant(text string) []float32 {
	v := make([]float32, len(meanings)+1)
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' }) {
		for i, group := range meanings {
			if strings.Contains(" "+group+" ", " "+word+" ") {
				v[i]++
			}
		}
	}
	v[len(meanings)] = 0.01
	return v
}

// embeddings is a server that speaks the protocol of OpenAI.
func embeddings(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		var in struct {
			Model string   `json:"model"`
			Input []string `json:"input"`
		}
		if req.URL.Path != "/v1/embeddings" || json.NewDecoder(req.Body).Decode(&in) != nil || in.Model != "tiny" {
			http.Error(rw, "no", http.StatusBadRequest)
			return
		}
		var data []map[string]any
		for i, text := range in.Input {
			data = append(data, map[string]any{"index": i, "embedding": meant(text)})
		}
		_ = json.NewEncoder(rw).Encode(map[string]any{"data": data})
	}))
	t.Cleanup(server.Close)
	return server
}

// A document is ranked by its best piece, once by words and once by meaning, however many pieces it has; what means
// something else is not found at all.
func TestLongTextsDoNotOutrankNearOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, new(perdure.MemStore))
	w.Embed = &workspace.Embeddings{URL: embeddings(t).URL + "/v1", Model: "tiny"}
	r := w.as("coder")
	talk, long := "# A walk\n", "# A walk\n"
	for i := range 6 {
		said := strings.Repeat(fmt.Sprintf("The forest has paths, and path %d has a tree. ", i), 60)
		talk += fmt.Sprintf("\n## ann\n\n%s\n", said)
		long += fmt.Sprintf("\n## Part %d\n\n%s\n", i, said)
	}
	if _, err := r.Import(t.Context(), workspace.Foreign{Path: "transcripts/walk.md", Kind: workspace.KindTranscript,
		Text: talk}, nil, false); err != nil {
		t.Fatal(err)
	}
	w.write(r, workspace.Draft{Path: "notes/walk.md", Text: long})
	w.write(r, workspace.Draft{Path: "notes/oil.md", Text: "The automobile needs oil.\n"})
	found := w.find(r, "vehicle")
	if len(found) != 1 || found[0].Path != "notes/oil.md" || !near(found[0].Score, 1.0/61) {
		t.Errorf("by meaning alone: %v, want notes/oil.md alone, at 1/61", scored(found))
	}
	found = w.find(r, "vehicle oil")
	if len(found) != 1 || !near(found[0].Score, 2.0/61) {
		t.Errorf("by words and meaning: %v, want notes/oil.md alone, at 2/61", scored(found))
	}
	for _, f := range w.find(r, "tree") {
		if f.Score > 2.0/61+1e-9 {
			t.Errorf("%s has %f, more than the first of both lists can", f.Path, f.Score)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func scored(found []*workspace.Found) (all []string) {
	for _, f := range found {
		all = append(all, fmt.Sprintf("%s %.4f", f.Path, f.Score))
	}
	return all
}

// A search that cannot ask for meanings finds words, and says so; deriving the index anew says what to do.
func TestASearchWithoutItsServerSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, new(perdure.MemStore))
	server := embeddings(t)
	w.Embed = &workspace.Embeddings{URL: server.URL + "/v1", Model: "tiny"}
	r := w.as("coder")
	w.write(r, workspace.Draft{Path: "notes/oil.md", Text: "The automobile needs oil.\n"})
	var notes []string
	search := workspace.Search{Text: "oil", Note: func(text string) { notes = append(notes, text) }}
	if _, err := r.Find(t.Context(), search); err != nil || len(notes) != 0 {
		t.Fatalf("with its server: %v, %v", notes, err)
	}
	server.Close()
	found, err := r.Find(t.Context(), search)
	if err != nil || len(found) != 1 || len(notes) != 1 {
		t.Fatalf("without its server: %v, %v, %v", scored(found), notes, err)
	}
	for _, want := range []string{"words alone", "does not answer", "embeddings in node.yaml"} {
		if !strings.Contains(notes[0], want) {
			t.Errorf("the note is %q, want %q in it", notes[0], want)
		}
	}
	err = r.Rebuild(t.Context(), func(string, int64, int64) {})
	var hint *perdure.Hint
	if !errors.As(err, &hint) || !strings.Contains(hint.Do, "embeddings in node.yaml") {
		t.Errorf("deriving it anew: %v, want a hint that names the setting", err)
	}
}

// hung is a server that takes a question and does not answer.
type hung struct{ asked int }

func (*hung) Name() string { return "tiny" }

func (h *hung) Embed(ctx context.Context, _ []string) ([][]float32, error) {
	h.asked++
	<-ctx.Done()
	return nil, ctx.Err()
}

// A server that does not answer keeps one search waiting, for a moment; the next ones find words at once, and say so.
func TestASilentEmbeddingsServerIsNotWaitedForEachTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, new(perdure.MemStore))
		server := &hung{}
		w.Embed = server
		w.write(w.Owner(), workspace.Draft{Path: "notes/car.md", Text: "the car is red\n"})
		for i, most := range []time.Duration{5 * time.Second, 0, 0} {
			began, note := time.Now(), ""
			found, err := w.Owner().Find(t.Context(), workspace.Search{Text: "car", Note: func(s string) { note = s }})
			if err != nil || len(found) != 1 || !strings.Contains(note, "words alone") {
				t.Errorf("search %d: %v %v %q", i, found, err, note)
			}
			if took := time.Since(began); took > most {
				t.Errorf("search %d took %s", i, took)
			}
		}
		time.Sleep(time.Minute)
		if _, err := w.Owner().Find(t.Context(), workspace.Search{Text: "car"}); err != nil || server.asked != 2 {
			t.Errorf("it was asked %d times: %v", server.asked, err)
		}
	})
}

// told is a server that answers each text with so many numbers, after as long as it takes for one, or refuses first.
type told struct {
	sync.Mutex
	numbers, refuses int
	slow             time.Duration
	texts            []string
}

func (e *told) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	e.Lock()
	defer e.Unlock()
	var in struct{ Input []string }
	if err := json.NewDecoder(req.Body).Decode(&in); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	if e.refuses > 0 && len(in.Input) > 1 {
		e.refuses--
		rw.Header().Set("Retry-After", "1")
		http.Error(rw, "slow down", http.StatusTooManyRequests)
		return
	}
	select {
	case <-time.After(e.slow * time.Duration(len(in.Input)-1)):
	case <-req.Context().Done():
		return
	}
	e.texts = append(e.texts, in.Input...)
	var data []map[string]any
	for i, text := range in.Input {
		data = append(data, map[string]any{"index": i, "embedding": append(meant(text), make([]float32, e.numbers)...)})
	}
	_ = json.NewEncoder(rw).Encode(map[string]any{"data": data})
}

func (w *world) embeddedBy(server http.Handler) {
	s := httptest.NewServer(server)
	w.t.Cleanup(s.Close)
	w.Embed = &workspace.Embeddings{URL: s.URL + "/v1", Model: "tiny"}
}

// What is private goes to the server that is configured, and to no other that it names.
func TestTextsAreNotSentWhereTheServerRedirects(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t, new(perdure.MemStore)), &told{}
	elsewhere := httptest.NewServer(other)
	t.Cleanup(elsewhere.Close)
	w.embeddedBy(http.RedirectHandler(elsewhere.URL+"?key=secret", http.StatusTemporaryRedirect))
	w.Embed.(*workspace.Embeddings).URL = strings.Replace(w.Embed.(*workspace.Embeddings).URL, "//", "//me:secret@", 1)
	w.write(w.Owner(), workspace.Draft{Path: "notes/car.md", Text: "the car is red\n"})
	note := ""
	_, err := w.Owner().Find(t.Context(), workspace.Search{Text: "vehicle", Note: func(s string) { note = s }})
	if err != nil || strings.Contains(note, "secret") || len(other.texts) > 0 {
		t.Errorf("it was sent %q elsewhere, and the search says %q, %v", other.texts, note, err)
	}
	for _, want := range []string{"307", "to " + elsewhere.URL, "no other server", "embeddings in node.yaml"} {
		if !strings.Contains(note, want) {
			t.Errorf("the search says %q, want %q in it", note, want)
		}
	}
}

// A model that was replaced by another under its name answers with vectors of another size: texts get new ones.
func TestTextsGetNewVectorsWhenTheirSizeChanges(t *testing.T) {
	t.Parallel()
	w, server := newWorld(t, new(perdure.MemStore)), &told{numbers: 4}
	w.embeddedBy(server)
	w.write(w.Owner(), workspace.Draft{Path: "notes/car.md", Text: "the car is red\n"})
	for _, server.numbers = range []int{4, 8} {
		if found := w.find(w.Owner(), "vehicle"); len(found) != 1 {
			t.Errorf("with %d numbers: found %v, want the car", server.numbers, scored(found))
		}
	}
}

// A search does not wait until a slow server is done with all that is new, but each goes on with it, and says so.
func TestASearchGoesOnEmbeddingWithASlowServer(t *testing.T) {
	t.Parallel()
	w, server := newWorld(t, new(perdure.MemStore)), &told{slow: 400 * time.Millisecond}
	w.embeddedBy(server)
	for i := range 14 {
		w.write(w.Owner(), workspace.Draft{Path: fmt.Sprintf("notes/car%d.md", i), Text: "the car is red\n"})
	}
	note, searches := "", 0
	for ; searches == 0 || note != ""; searches++ {
		note = ""
		_, err := w.Owner().Find(t.Context(), workspace.Search{Text: "vehicle", Note: func(s string) { note = s }})
		if err != nil || searches == 0 && note == "" {
			t.Fatalf("search %d says %q, %v", searches+1, note, err)
		}
	}
	if found := w.find(w.Owner(), "vehicle"); len(found) != 10 {
		t.Errorf("%d searches later: found %v, want ten", searches, scored(found))
	}
}

// Deriving the index anew waits for a server that allows no more for now.
func TestARebuildWaitsForABusyServer(t *testing.T) {
	t.Parallel()
	w, server := newWorld(t, new(perdure.MemStore)), &told{refuses: 2}
	w.embeddedBy(server)
	w.write(w.Owner(), workspace.Draft{Path: "notes/car.md", Text: "the car is red\n"})
	w.write(w.Owner(), workspace.Draft{Path: "notes/tree.md", Text: "the tree is red\n"})
	if err := w.Owner().Rebuild(t.Context(), func(string, int64, int64) {}); err != nil || server.refuses != 0 {
		t.Errorf("%v, and it refuses %d times more", err, server.refuses)
	}
	if len(server.texts) == 0 {
		t.Error("nothing was embedded")
	}
}
