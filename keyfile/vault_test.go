package keyfile_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/seal"
)

func TestErasingAKeyErasesEveryCopy(t *testing.T) {
	v := keyfile.Vault(filepath.Join(t.TempDir(), "vault"))
	secret, err := perdure.DataOf(map[string]any{"name": "Ana", "born": 1990})
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := seal.For(v, "ana", secret)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, []byte("Ana")) {
		t.Fatal("sealed data can be read")
	}
	nested, err := perdure.DataOf(map[string]any{"list": []any{sealed.Value(), 1}})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := seal.Open(v, nested)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"list":[{"born":1990,"name":"Ana"},1]}`; string(opened.JSON()) != want {
		t.Errorf("got %s, want %s", opened.JSON(), want)
	}
	for range 2 {
		if err := v.Erase("ana"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := seal.Open(v, nested); !errors.Is(err, seal.ErrErased) {
		t.Errorf("got %v after erasing, want ErrErased", err)
	}
	if _, err := seal.For(v, "ana", secret); !errors.Is(err, seal.ErrErased) {
		t.Errorf("got %v, want that an erased subject gets no new key", err)
	}
}

func TestSealedDataIsBoundToItsSubjectAndVault(t *testing.T) {
	dir := t.TempDir()
	v, other := keyfile.Vault(filepath.Join(dir, "a")), keyfile.Vault(filepath.Join(dir, "b"))
	data, err := perdure.DataOf("x")
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := seal.For(v, "ana", data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := seal.Open(other, sealed); err == nil {
		t.Error("another vault opened it")
	}
	if _, err := seal.Open(nil, sealed); err == nil {
		t.Error("it was opened without a vault")
	}
	if plain, err := seal.Open(nil, data); err != nil || !bytes.Equal(plain, data) {
		t.Errorf("got %s, %v, want plain data as it is", plain, err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "a"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("got %d files, %v, want one key", len(entries), err)
	}
	if info, err := entries[0].Info(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, want 0600", info.Mode())
	}
}
