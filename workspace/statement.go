package workspace

import (
	"context"
	"database/sql"
)

// maxStatements bounds the statements that are kept ready.
const maxStatements = 128

// statement is one that is asked often, made ready once; nil: there are as many as are kept.
func (ix *Index) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if s := ix.ready[text]; s != nil || len(ix.ready) >= maxStatements {
		return s, nil
	}
	s, err := ix.db.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	if ix.ready == nil {
		ix.ready = map[string]*sql.Stmt{}
	}
	ix.ready[text] = s
	return s, nil
}

// query asks a statement that is asked often.
func (ix *Index) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	s, err := ix.statement(ctx, text)
	if err != nil {
		return nil, ix.named(err)
	}
	var rows *sql.Rows
	if s == nil {
		rows, err = ix.db.QueryContext(ctx, text, args...)
	} else {
		rows, err = s.QueryContext(ctx, args...)
	}
	return rows, ix.named(err)
}

// row asks a statement that is asked often and has one row.
func (ix *Index) row(ctx context.Context, text string, args []any, to ...any) error {
	s, err := ix.statement(ctx, text)
	switch {
	case err != nil:
	case s == nil:
		err = ix.db.QueryRowContext(ctx, text, args...).Scan(to...)
	default:
		err = s.QueryRowContext(ctx, args...).Scan(to...)
	}
	return ix.named(err)
}
