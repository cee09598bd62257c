package nats

import (
	"context"
	"fmt"
	"iter"

	"github.com/perdure/perdure"
)

const (
	// maxInline is the longest data that a commit holds itself, where messages may be that long.
	maxInline = 256 << 10
	// maxPage is the longest page, where messages may be that long.
	maxPage = 768 << 10
	// spare is what is left of a message for what stands beside the data.
	spare = 16 << 10
)

// sheet gathers the entries of a commit: in the commit as long as they fit, else in pages that are written on the way.
type sheet struct {
	s     *Store
	id    perdure.AgentID
	aside bool // it is not of a commit in the log
	total int
	begin *perdure.Entry // the first
	data  []byte         // not written yet
	first int            // the entry that data begins with
	pages []page
}

// inline is the longest data of a commit with so many heads.
func (s *Store) inline(heads int) int {
	return min(maxInline, s.server.payload-spare-heads*hashSize)
}

// add takes in an entry.
func (w *sheet) add(ctx context.Context, e *perdure.Entry) error {
	if w.total == maxEntries {
		return fmt.Errorf("more than %d entries in one call: give them in several", maxEntries)
	}
	b, err := appendEntry(nil, e)
	if err != nil {
		return err
	}
	if w.total == 0 {
		w.begin = e
	}
	size := min(maxPage, w.s.server.payload-spare)
	if len(w.data) > 0 && len(w.data)+len(b) > size {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	if len(w.data) == 0 {
		w.first = w.total
	}
	w.total++
	if len(b) <= size {
		w.data = append(w.data, b...)
		return nil
	}
	parts := (len(b) + size - 1) / size
	for i := range parts {
		part := b[i*size : min((i+1)*size, len(b))]
		if err := w.page(ctx, part, parts-i); err != nil {
			return err
		}
	}
	return nil
}

// flush writes a page of what has been gathered.
func (w *sheet) flush(ctx context.Context) error {
	if len(w.data) == 0 {
		return nil
	}
	err := w.page(ctx, w.data, 0)
	w.data = nil
	return err
}

func (w *sheet) page(ctx context.Context, data []byte, parts int) error {
	subject := w.s.streams.pages(w.id)
	if w.aside {
		subject = w.s.streams.sides(w.id)
	}
	seq, err := w.s.store(ctx, subject, data, anything)
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	w.pages = append(w.pages, page{seq: seq, first: w.first, parts: parts, sum: perdure.HashOf(data)})
	return nil
}

// finish puts what was gathered into a commit.
func (w *sheet) finish(ctx context.Context, c *commit) error {
	c.total = w.total
	if len(w.pages) == 0 && len(w.data) <= w.s.inline(len(c.heads)) {
		c.data, c.pages = w.data, nil
		return nil
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	c.data, c.pages = nil, w.pages
	if long := len(c.pages) * (hashSize + 16); long > w.s.server.payload-spare-len(c.heads)*hashSize {
		return fmt.Errorf("%d pages in one call: give the entries in several", len(c.pages))
	}
	return nil
}

// abandon removes the pages of a commit that was not made. What cannot be removed now is when the store is mended.
func (w *sheet) abandon(ctx context.Context) { w.s.drop(context.WithoutCancel(ctx), w.pages) }

func (s *Store) drop(ctx context.Context, pages []page) {
	for _, p := range pages {
		if s.remove(ctx, s.streams.row, p.seq) != nil {
			return
		}
	}
}

// read is an entry, or why it cannot be read.
type read struct {
	*perdure.Entry
	err error
}

// content yields the entries of a commit from one on, or an error.
func (s *Store) content(ctx context.Context, id perdure.AgentID, c *commit, from int) iter.Seq2[int, read] {
	return func(yield func(int, read) bool) {
		if len(c.pages) == 0 {
			all, err := entriesOf(id, c.data, s.limits)
			if err == nil && len(all) != c.total {
				err = errCommit
			}
			if err != nil {
				yield(0, read{nil, fmt.Errorf("%w (message %d)", err, c.seq)})
				return
			}
			for i := from; i < len(all); i++ {
				if !yield(i, read{all[i], nil}) {
					return
				}
			}
			return
		}
		next := 0
		for i := 0; i < len(c.pages); {
			n := max(1, c.pages[i].parts)
			end := c.total
			if i+n < len(c.pages) {
				end = c.pages[i+n].first
			}
			if end <= from { // all of it comes before
				i, next = i+n, end
				continue
			}
			all, err := s.sheet(ctx, id, c.pages[i:min(i+n, len(c.pages))])
			if err == nil && (c.pages[i].first != next || len(all) != end-next) {
				err = errCommit
			}
			if err != nil {
				yield(0, read{nil, fmt.Errorf("%w (message %d, page %d)", err, c.seq, i)})
				return
			}
			for k, e := range all {
				if at := next + k; at >= from && !yield(at, read{e, nil}) {
					return
				}
			}
			i, next = i+n, end
		}
	}
}

// sheet reads the entries of one page, or the one entry of several.
func (s *Store) sheet(ctx context.Context, id perdure.AgentID, pages []page) ([]*perdure.Entry, error) {
	var data []byte
	for _, p := range pages {
		m, err := s.get(ctx, s.streams.row, query{Seq: p.seq})
		if err != nil {
			return nil, err
		}
		if m == nil {
			return nil, errLost
		}
		if perdure.HashOf(m.Data) != p.sum {
			return nil, errCommit
		}
		if len(pages) == 1 {
			data = m.Data
		} else {
			data = append(data, m.Data...)
		}
	}
	return entriesOf(id, data, s.limits)
}
