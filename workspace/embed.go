package workspace

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// Embeddings is an Embedder behind a server that speaks the protocol of OpenAI, as Ollama and many others do.
type Embeddings struct {
	URL    string // such as http://127.0.0.1:11434/v1
	Model  string
	Key    func() (string, error) // nil: none
	Client *http.Client           // nil: the default one
}

var _ Embedder = (*Embeddings)(nil)

// Name is the model.
func (e *Embeddings) Name() string { return e.Model }

const (
	maxEmbedded  = 64 << 20
	embedTimeout = time.Minute
	// askTimeout is how long a search waits for what its question means: a person, or a model, waits for the answer.
	askTimeout = 3 * time.Second
	// deafFor is how long a server that did not answer in that time is not asked by searches: a model may be loading.
	deafFor = 30 * time.Second
)

// Embed asks the server.
func (e *Embeddings) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out, err := e.ask(ctx, texts)
	_, full := errors.AsType[*busy](err)
	if _, told := errors.AsType[*perdure.Hint](err); err != nil && !full && !told {
		return nil, perdure.WithHint(err, "start that server, or correct embeddings in node.yaml")
	}
	return out, err
}

// busy is why a server does not answer now: it has too much to do, or has answered as often as it allows.
type busy struct {
	error
	after time.Duration // it is to be asked again then; zero: it does not say
}

func (e *Embeddings) ask(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, embedTimeout)
	defer cancel()
	body, err := json.Marshal(map[string]any{"model": e.Model, "input": texts})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(e.URL, "/")+"/embeddings",
		bytes.NewReader(body))
	if err != nil {
		var wrong *url.Error
		if errors.As(err, &wrong) {
			err = wrong.Err
		}
		return nil, fmt.Errorf("ask for embeddings: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if e.Key != nil {
		key, err := e.Key()
		if err != nil {
			return nil, fmt.Errorf("ask for embeddings: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
	}
	var client http.Client
	if e.Client != nil {
		client = *e.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // texts go to no other server than the one that is configured
	}
	answer, err := client.Do(req)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // the address is said
		}
		return nil, fmt.Errorf("the embeddings server at %s does not answer: %w", req.URL.Host, err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	if to, err := answer.Location(); err == nil && answer.StatusCode/100 == 3 {
		elsewhere := to.Scheme + "://" + to.Host + to.Path // what else is in it may be a secret
		return nil, perdure.WithHint(fmt.Errorf("ask for embeddings: %s answered %s, to %s; texts go to no other "+
			"server than the one that is named", req.URL.Host+req.URL.Path, answer.Status, elsewhere),
			"if that is the right one, name it for embeddings in node.yaml")
	}
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 512))
		err := fmt.Errorf("ask for embeddings: %s answered %s: %s", req.URL.Host+req.URL.Path, answer.Status,
			strings.TrimSpace(string(said)))
		if answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode == http.StatusServiceUnavailable {
			seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
			err = &busy{err, time.Duration(min(max(seconds, 0), int(longestWait/time.Second))) * time.Second}
		}
		return nil, err
	}
	var got struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxEmbedded)).Decode(&got); err != nil {
		return nil, fmt.Errorf("ask for embeddings: %w", err)
	}
	out := make([][]float32, len(texts))
	for _, d := range got.Data {
		if d.Index >= 0 && d.Index < len(out) {
			out[d.Index] = d.Embedding
		}
	}
	if slices.ContainsFunc(out, func(v []float32) bool { return len(v) == 0 }) {
		return nil, fmt.Errorf("ask for embeddings: %s answered with %d for %d texts", req.URL.Host, len(got.Data),
			len(texts))
	}
	return out, nil
}

// errDeaf is why a server is not asked.
var errDeaf = perdure.WithHint(fmt.Errorf("the embeddings server has just not answered within %s", askTimeout),
	"see perdure doctor")

// meaning is the vector of a question. It is not waited for long, and not each time.
func (w *Workspace) meaning(ctx context.Context, text string) ([]float32, error) {
	w.mu.Lock()
	deaf := time.Since(w.deaf) < deafFor
	w.mu.Unlock()
	if deaf {
		return nil, errDeaf
	}
	asking, stop := context.WithTimeout(ctx, askTimeout)
	defer stop()
	out, err := w.Embed.Embed(asking, []string{text})
	if err != nil {
		if asking.Err() != nil && ctx.Err() == nil {
			w.mu.Lock()
			w.deaf = time.Now()
			w.mu.Unlock()
		}
		return nil, err
	}
	return out[0], nil
}

const (
	embedBatch = 64
	// A server that is busy is asked again after a while, then after twice as long, up to the longest.
	shortestWait, longestWait = time.Second, time.Minute
)

// EmbedAll embeds every text that has no vector of the model yet.
func (w *Workspace) EmbedAll(ctx context.Context, progress func(done, total int64)) error {
	if w.Embed == nil {
		return nil
	}
	var total, done int64
	if err := w.Index.db.QueryRowContext(ctx, "SELECT count(*) FROM item").Scan(&total); err != nil {
		return err
	}
	for wait := shortestWait; ; {
		n, err := w.embedSome(ctx, embedBatch, 0)
		if full, ok := errors.AsType[*busy](err); ok && wait <= longestWait {
			select {
			case <-time.After(max(full.after, wait)):
			case <-ctx.Done():
				return ctx.Err()
			}
			wait *= 2
			continue
		}
		if err != nil || n == 0 {
			return err
		}
		wait = shortestWait
		if done += int64(n); progress != nil {
			progress(min(done, total), total)
		}
	}
}

// embedSome embeds some texts that have no vector yet, newest first, and says how many. With the size of a vector, one
// of another size is none: a model that answers otherwise than it did is another model, whatever its name.
func (w *Workspace) embedSome(ctx context.Context, limit, size int) (int, error) {
	rows, err := w.Index.db.QueryContext(ctx, "SELECT i.id, words.title, words.body FROM item i JOIN words ON "+
		"words.rowid=i.id LEFT JOIN vector v ON v.item=i.id AND v.model=? "+
		"WHERE v.item IS NULL OR ?<>0 AND length(v.value)<>? ORDER BY i.id DESC LIMIT ?", w.Embed.Name(), size, size,
		limit)
	if err != nil {
		return 0, err
	}
	var ids []int64
	var texts []string
	for rows.Next() {
		var id int64
		var title, body string
		if err := rows.Scan(&id, &title, &body); err != nil {
			return 0, errors.Join(err, rows.Close())
		}
		ids, texts = append(ids, id), append(texts, clip(joined(strings.TrimSpace(title+"\n"+body)), maxEmbedText))
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(ids) == 0 {
		return 0, err
	}
	vectors, err := w.Embed.Embed(ctx, texts)
	if err != nil {
		return 0, err
	}
	for _, v := range vectors {
		if size != 0 && bytesPerNumber*len(v) != size {
			return 0, fmt.Errorf("%s answered with %d numbers for a question, and %d for a text", w.Embed.Name(),
				size/bytesPerNumber, len(v))
		}
	}
	tx, err := w.Index.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	for i, id := range ids {
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO vector SELECT ?, ?, ? WHERE EXISTS(SELECT 1 FROM item "+
			"WHERE id=?)", id, w.Embed.Name(), packed(vectors[i]), id)
		if err != nil {
			return 0, errors.Join(err, tx.Rollback())
		}
	}
	return len(ids), tx.Commit()
}

// maxEmbedText bounds what of a text is embedded: models read no more.
const maxEmbedText = 6000

// bytesPerNumber is how many bytes a packed vector has for each of its numbers.
const bytesPerNumber = 4

// packed is a vector of length one as bytes.
func packed(v []float32) []byte {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	scale := 1 / math.Max(math.Sqrt(sum), 1e-12)
	b := make([]byte, 0, bytesPerNumber*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(float64(x)*scale)))
	}
	return b
}

// nearness is the cosine of two packed vectors; of vectors of different sizes it is none.
func nearness(a, b []byte) float64 {
	if len(a) != len(b) {
		return -1
	}
	sum := 0.0
	for i := 0; i+4 <= len(a); i += 4 {
		x, y := binary.LittleEndian.Uint32(a[i:]), binary.LittleEndian.Uint32(b[i:])
		sum += float64(math.Float32frombits(x)) * float64(math.Float32frombits(y))
	}
	return sum
}
