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
