package dir

import (
	"context"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Kind{Open: func(_ context.Context, path string) (perdure.Store, error) {
		return Open(path, Options{})
	}})
}

func TestBinaryStore(t *testing.T) {
	storetest.Run(t, storetest.Kind{Open: func(_ context.Context, path string) (perdure.Store, error) {
		return Open(path, Options{Binary: true})
	}})
}
