package perdure_test

import (
	"context"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/storetest"
)

func TestMemStoreKeepsTheContract(t *testing.T) {
	storetest.Run(t, storetest.Kind{
		Open:     func(context.Context, string) (perdure.Store, error) { return new(perdure.MemStore), nil },
		Volatile: true,
	})
}
