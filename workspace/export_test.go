package workspace

import "context"

// Holds reports whether the index has a word, as text and as a token.
func (ix *Index) Holds(ctx context.Context, word string) (text, token bool) {
	c, err := ix.db.Conn(ctx) // a temporary table is that of one connection
	if err != nil {
		return true, true
	}
	defer c.Close() //nolint:errcheck // it was only read
	_ = c.QueryRowContext(ctx, "SELECT EXISTS(SELECT 1 FROM words WHERE body LIKE '%'||?||'%')", word).Scan(&text)
	_, _ = c.ExecContext(ctx, "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, words, row)")
	_ = c.QueryRowContext(ctx, "SELECT EXISTS(SELECT 1 FROM temp.vocabulary WHERE term=?)", word).Scan(&token)
	return text, token
}

// FindSince is Find as a frequent word alone is looked for: among the items from one on, first.
func (r *Reader) FindSince(ctx context.Context, s Search, since int64) ([]*Found, error) {
	f, err := r.newFinder(ctx, &s)
	if err != nil {
		return nil, err
	}
	return f.byWords(ctx, &searching{terms: ask(s.Text).terms, since: since})
}
