package capsule

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// TestDepthDoesNotRestOnWhatOthersKept holds against a courier who leaves bodies out of a long file and puts an index
// beside it that says otherwise.
func TestDepthDoesNotRestOnWhatOthersKept(t *testing.T) {
	key, err := perdure.GenerateSigner("author")
	if err != nil {
		t.Fatal(err)
	}
	g, err := key.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "grow"},
		Charter: perdure.Charter{Scope: "acme"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	all := []*perdure.Entry{g}
	for range 400 {
		data, err := perdure.DataOf(strings.Repeat("grown ", 200))
		if err != nil {
			t.Fatal(err)
		}
		es, next, err := key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "grown", Data: data}})
		if err != nil {
			t.Fatal(err)
		}
		a, all = next, append(all, es...)
	}
	path, base := filepath.Join(t.TempDir(), "long.agent"), filepath.Join(t.TempDir(), "rows", "long")
	if err := CreateLog(path, Binary, all...); err != nil {
		t.Fatal(err)
	}
	depth := func(secret string) (Depth, int64) {
		t.Helper()
		l, err := IndexedLog(path, base, []byte(secret))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		d, err := l.Depth(nil)
		if err != nil {
			t.Fatal(err)
		}
		return d, l.Scanned()
	}
	courier, err := IndexedLog(path, base, []byte("the courier's"))
	if err != nil {
		t.Fatal(err)
	}
	if err := courier.Lock(); err != nil {
		t.Fatal(err)
	}
	if _, err := courier.Prune(courier.LockedHeads(), []perdure.Hash{all[5].Name}); err != nil {
		t.Fatal(err)
	}
	courier.Unlock()
	courier.bare = 0 // and says so beside it
	if err := courier.Keep(); err != nil {
		t.Fatal(err)
	}
	if err := courier.Close(); err != nil {
		t.Fatal(err)
	}
	if d, n := depth("the courier's"); d != perdure.Full || n != 0 {
		t.Fatalf("the attack proves nothing: depth %s after %d entries were read", d, n)
	}
	for _, secret := range []string{"", "the home's"} {
		if d, _ := depth(secret); d != perdure.Headers {
			t.Errorf("secret %q: depth %s by what a courier put beside the file, want headers", secret, d)
		}
	}
}
