package workspace

import (
	"context"

	"github.com/perdure/perdure"
)

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

// Grow has the index look for words as one does that is large, where so many texts are many.
func (ix *Index) Grow(many int64) { ix.large, ix.broad = 0, many }

// RoleGenesis is how a role begins.
func RoleGenesis(w *Workspace, role string) perdure.Genesis { return w.roleGenesis(role) }
