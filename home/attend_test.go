package home_test

import (
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/home"
)

func TestOneProcessAttendsAStore(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dir := filepath.Join(t.TempDir(), "home")
	at := func(url string) *home.Home {
		t.Helper()
		h := &home.Home{URL: url, Acts: true}
		if err := h.Locate(); err != nil {
			t.Fatal(err)
		}
		if err := h.MakeHome(); err != nil {
			t.Fatal(err)
		}
		return h
	}
	one, two := at(dir), at(dir)
	leave, ours, err := one.Attend()
	if !ours || err != nil {
		t.Fatalf("the first: %v, %v", ours, err)
	}
	if _, ours, err := two.Attend(); ours || err != nil {
		t.Errorf("the second: %v, %v", ours, err)
	}
	if _, ours, err := at(filepath.Join(t.TempDir(), "other")).Attend(); !ours || err != nil {
		t.Errorf("another store: %v, %v", ours, err)
	}
	if err := leave(); err != nil {
		t.Fatal(err)
	}
	if _, ours, err := two.Attend(); !ours || err != nil {
		t.Errorf("the second, after the first has left: %v, %v", ours, err)
	}
	if !one.Knows("store.db-node") {
		t.Error("doctor does not know the file")
	}
}
