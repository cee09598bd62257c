package sqlite

import (
	"context"
	"database/sql"
	"errors"
)

// Engine is the version of the SQLite engine that is built in.
func Engine(ctx context.Context) (version string, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return "", err
	}
	err = db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version)
	return version, errors.Join(err, db.Close())
}
