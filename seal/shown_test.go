package seal_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/seal"
)

// TestShownSaysWhatIsSealedForWhom shows sealed data in a home that can open it, in one that cannot, and once its
// subject was erased.
func TestShownSaysWhatIsSealedForWhom(t *testing.T) {
	t.Parallel()
	v, other := keyfile.Vault(t.TempDir()), keyfile.Vault(t.TempDir())
	text, err := canon.DataOf("a secret")
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := seal.For(v, "carol", text)
	if err != nil {
		t.Fatal(err)
	}
	args, err := canon.DataOf(map[string]any{"script": []any{sealed.Value()}})
	if err != nil {
		t.Fatal(err)
	}
	check := func(v seal.Vault, want ...string) {
		t.Helper()
		got, err := seal.Shown(v, args).MarshalJSON()
		for _, one := range want {
			if err != nil || !strings.Contains(string(got), one) {
				t.Errorf("shown: %s, %v, want %q in it", got, err, one)
			}
		}
	}
	check(v, `"sealed for carol"`, "a secret")
	check(nil, "sealed for carol, and not opened here", "it is opened only in its home")
	check(other, "sealed for carol, and not opened here", "its key is not here")
	if known, err := other.Knows("carol"); known || err != nil {
		t.Errorf("looking made a key: %v, %v", known, err)
	}
	if err := v.Erase("carol"); err != nil {
		t.Fatal(err)
	}
	check(v, "sealed for carol, and not opened here", "erased")
}
