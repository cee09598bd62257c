package workspace

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
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
)

// Embed asks the server.
func (e *Embeddings) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, embedTimeout)
	defer cancel()
	body, err := json.Marshal(map[string]any{"model": e.Model, "input": texts})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(e.URL, "/")+"/embeddings",
		bytes.NewReader(body))
	if err != nil {
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
	client := e.Client
	if client == nil {
		client = http.DefaultClient
	}
	answer, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask for embeddings: %w", err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 512))
		return nil, fmt.Errorf("ask for embeddings: %s answered %s: %s", req.URL.Host, answer.Status,
			strings.TrimSpace(string(said)))
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

const (
	embedBatch  = 64
	embedAtOnce = 512 // texts a search embeds before it answers; the rest waits for the next, or for EmbedAll
	// fuseConstant is that of reciprocal rank fusion.
	fuseConstant = 60
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
	for {
		n, err := w.embedSome(ctx, embedBatch)
		if err != nil || n == 0 {
			return err
		}
		if done += int64(n); progress != nil {
			progress(min(done, total), total)
		}
	}
}

// embedSome embeds some texts that have no vector yet, newest first, and says how many.
func (w *Workspace) embedSome(ctx context.Context, limit int) (int, error) {
	rows, err := w.Index.db.QueryContext(ctx, "SELECT i.id, words.title, words.body FROM item i JOIN words ON "+
		"words.rowid=i.id LEFT JOIN vector v ON v.item=i.id AND v.model=? "+
		"WHERE v.item IS NULL ORDER BY i.id DESC LIMIT ?", w.Embed.Name(), limit)
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

// packed is a vector of length one as bytes.
func packed(v []float32) []byte {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	scale := 1 / math.Max(math.Sqrt(sum), 1e-12)
	b := make([]byte, 0, 4*len(v))
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

// fused is what was found by words together with what is near in meaning, by reciprocal rank. A server that does not
// answer leaves words alone.
func (f *finder) fused(ctx context.Context, byWords []*Found) ([]*Found, error) {
	for done := 0; done < embedAtOnce; {
		n, err := f.embedSome(ctx, embedBatch)
		if err != nil || n == 0 {
			break
		}
		done += n
	}
	asked, err := f.Embed.Embed(ctx, []string{f.s.Text})
	if err != nil || len(asked) != 1 {
		return byWords, ctx.Err()
	}
	near, err := f.near(ctx, packed(asked[0]))
	if err != nil {
		return nil, err
	}
	type key struct{ version, item int64 }
	of := func(c *Found) key {
		if c.version != 0 {
			return key{version: c.version}
		}
		return key{item: c.item}
	}
	all, scores := map[key]*Found{}, map[key]float64{}
	var order []key
	for _, list := range [][]*Found{byWords, near} {
		for i, c := range list {
			k := of(c)
			if all[k] == nil {
				all[k] = c
				order = append(order, k)
			}
			scores[k] += 1 / float64(fuseConstant+i+1)
		}
	}
	slices.SortStableFunc(order, func(a, b key) int { return cmp.Compare(scores[b], scores[a]) })
	out := make([]*Found, len(order))
	for i, k := range order {
		out[i] = all[k]
		out[i].Score = scores[k]
	}
	return out, nil
}

// near is what is nearest in meaning of what the reader may see.
func (f *finder) near(ctx context.Context, asked []byte) ([]*Found, error) {
	rows, err := f.Index.db.QueryContext(ctx, "SELECT v.item, v.value, i.agent, coalesce(i.version, 0), "+
		"i.at, i.kind FROM vector v JOIN item i ON i.id=v.item "+
		"WHERE v.model=? AND (i.expires=0 OR i.expires>?)", f.Embed.Name(), int64(f.now))
	if err != nil {
		return nil, err
	}
	type row struct {
		Found
		agent int64
	}
	var best []*row
	for rows.Next() {
		c := &row{}
		var value []byte
		var at int64
		if err := rows.Scan(&c.item, &value, &c.agent, &c.version, &at, &c.Kind); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		c.Time, c.Score = perdure.Time(at), nearness(asked, value)
		if f.fits(&c.Found) {
			best = append(best, c)
		}
		if len(best) > 8192 {
			slices.SortStableFunc(best, func(a, b *row) int { return cmp.Compare(b.Score, a.Score) })
			best = best[:2048]
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	slices.SortStableFunc(best, func(a, b *row) int { return cmp.Compare(b.Score, a.Score) })
	var found []*Found
	docs := map[int64]bool{}
	for _, c := range best {
		if len(found) == fewest {
			break
		}
		if c.once() && docs[c.version] {
			continue
		}
		ok, err := f.show(ctx, &c.Found, c.agent)
		if err != nil {
			return nil, err
		}
		if ok {
			docs[c.version] = true
			found = append(found, &c.Found)
		}
	}
	return found, nil
}
