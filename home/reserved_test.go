package home

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// Nobody is trusted under a name that stands for somebody in every policy, and a name that is in a trust file already
// is none.
func TestNobodyIsTrustedAsTheOwner(t *testing.T) {
	t.Parallel()
	key, err := perdure.GenerateSigner("owner")
	if err != nil {
		t.Fatal(err)
	}
	h := &Home{URL: filepath.Join(t.TempDir(), "home")}
	if err := h.Locate(); err != nil {
		t.Fatal(err)
	}
	who := perdure.Trustee{Key: key.Key(), Name: "Owner", Rights: perdure.MayApprove, Scope: perdure.AnyScope}
	if err := h.AddTrust(who); err == nil || !strings.Contains(err.Error(), `cannot be called "Owner"`) {
		t.Errorf("got %v", err)
	}
	who.Name = ""
	if err := h.AddTrust(who); err != nil {
		t.Error(err)
	}
	read, err := perdure.ParseTrust(strings.NewReader(key.VerifierKey() + " approve *\n"))
	if err != nil || len(read.Trustees()) != 1 || read.Trustees()[0].Name != "" {
		t.Errorf("read %+v, %v; want the key without its name", read.Trustees(), err)
	}
}
