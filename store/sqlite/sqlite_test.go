package sqlite_test

import (
	"context"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/storetest"
)

func TestStoreKeepsTheContract(t *testing.T) {
	storetest.Run(t, storetest.Kind{Open: func(ctx context.Context, path string) (perdure.Store, error) {
		return sqlite.Open(ctx, path, sqlite.Options{})
	}})
}
