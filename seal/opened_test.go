package seal_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/seal"
)

func dataOf(t *testing.T, v any) canon.Data {
	t.Helper()
	d, err := canon.DataOf(v)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func sealedFor(t *testing.T, v seal.Vault, subject string, value any) any {
	t.Helper()
	d, err := seal.For(v, subject, dataOf(t, value))
	if err != nil {
		t.Fatal(err)
	}
	return d.Value()
}

// Whatever repeats what was opened is sealed for the same people, opens again, and is gone when one of them is erased.
func TestWhatRepeatsWhatWasOpenedIsSealedAgain(t *testing.T) {
	t.Parallel()
	v := keyfile.Vault(t.TempDir())
	args := dataOf(t, map[string]any{
		"ann": sealedFor(t, v, "ann", map[string]any{"name": "Ann \"Q\" Öst", "account": int64(7734219)}),
		"bob": sealedFor(t, v, "bob", "Bob Westing"), "n": int64(1),
	})
	plain, opened, err := seal.OpenAll(v, args)
	if err != nil {
		t.Fatal(err)
	}
	if got := plain.String(); !strings.Contains(got, "Westing") || !strings.Contains(got, "7734219") {
		t.Errorf("opened %s", got)
	}
	back := map[string]any{
		"exact": "Bob Westing", "within": "Dear Ann \"Q\" Öst,", "both": "Bob Westing owes Ann \"Q\" Öst",
		"number": int64(7734219), "digits": "no. 7734219", "json": `{"name":"Ann \"Q\" Öst"}`,
		"bytes": []byte("to Bob Westing"), "list": []any{"x", "Bob Westing"},
		"key": map[string]any{"Bob Westing": int64(1)},
	}
	clear := dataOf(t, map[string]any{"status": int64(200), "kind": "letter", "n": int64(1), "ok": true, "none": nil})
	result, err := opened.Seal(dataOf(t, back))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"Westing", "Öst", "7734219"} {
		if bytes.Contains(result, []byte(secret)) || strings.Contains(result.String(), secret) {
			t.Errorf("%q is in %s", secret, result)
		}
	}
	if again, err := opened.Seal(dataOf(t, back)); err != nil || !bytes.Equal(again, result) {
		t.Errorf("sealed twice: %s and %s (%v)", result, again, err)
	}
	if same, err := opened.Seal(clear); err != nil || !bytes.Equal(same, clear) {
		t.Errorf("%s became %s (%v)", clear, same, err)
	}
	if got, err := seal.Open(v, result); err != nil || !bytes.Equal(got, dataOf(t, back)) {
		t.Errorf("opened %s (%v), want %s", got, err, dataOf(t, back))
	}
	if got, want := opened.Veil("no Bob Westing here"), "no [sealed] here"; got != want {
		t.Errorf("veiled %q, want %q", got, want)
	}
	if err := v.Erase("ann"); err != nil {
		t.Fatal(err)
	}
	both := dataOf(t, result.Value().(map[string]any)["both"])
	if got, err := seal.Open(v, both); err == nil {
		t.Errorf("ann is erased, and %s opens", got)
	}
}

func TestNothingIsSealedWhereNothingWasOpened(t *testing.T) {
	t.Parallel()
	d := dataOf(t, map[string]any{"name": "Bob"})
	plain, opened, err := seal.OpenAll(nil, d)
	if err != nil || opened != nil || !bytes.Equal(plain, d) {
		t.Fatalf("opened %s, %v (%v)", plain, opened, err)
	}
	if same, err := opened.Seal(d); err != nil || !bytes.Equal(same, d) || opened.Veil("Bob") != "Bob" {
		t.Errorf("sealed %s (%v)", same, err)
	}
}
