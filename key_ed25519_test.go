package perdure

import (
	"bufio"
	"compress/gzip"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// small is a point of order 8, and p+1, another encoding of the neutral point.
const (
	small     = "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"
	unreduced = "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"
)

func TestKeysOfNobodyAreRefusedWhereverTheyEnter(t *testing.T) {
	for _, text := range []string{small, unreduced, strings.Repeat("0", 64)} {
		if _, _, err := ParseKey(text); !refusedFor(err, "key.sound") {
			t.Errorf("as text: %s: got %v", text, err)
		}
		if _, err := ParseTrust(strings.NewReader(text + " own acme\n")); !refusedFor(err, "key.sound") {
			t.Errorf("in a trust file: %s: got %v", text, err)
		}
		pub := must(hex.DecodeString(text))
		if _, _, err := ParseKey(keyText("eve", Key(pub))); !refusedFor(err, "key.sound") {
			t.Errorf("as a note key: %s: got %v", text, err)
		}
		if _, err := NewSigner("eve", ed25519.PrivateKey(append(make([]byte, 32), pub...))); !refusedFor(err,
			"key.sound") {
			t.Errorf("as a signer: %s: got %v", text, err)
		}
		if err := Key(pub).Verify(Hash{}, make([]byte, 64)); !refusedFor(err, "key.sound") {
			t.Errorf("as the author of a signature: %s: got %v", text, err)
		}
	}
}

func refusedFor(err error, predicate string) bool {
	var r *Rejection
	return errors.As(err, &r) && r.Predicate == predicate
}

// flagged is a module of published signatures with their properties. It is read where it is, never copied.
const flagged = "filippo.io/mostly-harmless/ed25519vectors@v0.0.0-20210322192420-30a2d7243a94"

// outside are where published vectors may lie: beside this checkout, and in the module cache.
func outside() []string {
	modules := os.Getenv("GOMODCACHE")
	if modules == "" {
		modules = filepath.Join(build.Default.GOPATH, "pkg", "mod")
	}
	return []string{filepath.Join("..", "shared", "vectors"), filepath.Join(modules, filepath.FromSlash(flagged))}
}

// TestPublishedSignaturesAreJudgedByProperty holds the verdicts against vectors that others publish: files whose
// objects have A, R, S, M and Flags (C2SP/CCTV), or test groups with keys and results (Wycheproof).
func TestPublishedSignaturesAreJudgedByProperty(t *testing.T) {
	judged := 0
	for _, dir := range outside() {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.Contains(strings.ToLower(path), "ed25519") ||
				filepath.Ext(path) != ".json" {
				return err
			}
			b, err := os.ReadFile(path)
			if err == nil {
				judged += judgeFlagged(t, b) + judgeGroups(t, b)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if judged == 0 {
		t.Skipf("no published Ed25519 vectors in %s: go mod download %s gets some; the project's own are in "+
			"spec/vectors (key-*, entry-mixed-*)", outside(), flagged)
	}
	t.Logf("%d signatures", judged)
}

// TestHonestSignaturesAreAccepted reads the signatures that come with Go, those of the authors of Ed25519: each is
// accepted, and not with a bit of its R, its S, its key or its message changed.
func TestHonestSignaturesAreAccepted(t *testing.T) {
	f, err := os.Open(filepath.Join(build.Default.GOROOT, "src", "crypto", "ed25519", "testdata", "sign.input.gz"))
	if err != nil {
		t.Skipf("this Go comes without its tests: %v", err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	judged := 0
	for lines := bufio.NewScanner(z); lines.Scan(); {
		fields := strings.Split(lines.Text(), ":") // private and public key, public key, message, signature and message
		if len(fields) != 5 {
			t.Fatalf("line %d has %d fields", judged+1, len(fields))
		}
		key, message, signature := Key(must(hex.DecodeString(fields[1]))), must(hex.DecodeString(fields[2])),
			must(hex.DecodeString(fields[3][:128]))
		if err := key.verify(message, signature); err != nil {
			t.Fatalf("line %d: %v", judged+1, err)
		}
		changes := []*byte{&signature[judged%32], &signature[32+judged%32], &key[judged%32]}
		if len(message) > 0 {
			changes = append(changes, &message[judged%len(message)])
		}
		for i, at := range changes {
			*at ^= 1 << (judged % 8)
			if key.verify(message, signature) == nil {
				t.Errorf("line %d: change %d is accepted", judged+1, i)
			}
			*at ^= 1 << (judged % 8)
		}
		judged++
	}
	if judged < 100 {
		t.Errorf("got %d signatures, want at least 100", judged)
	}
}

func judgeFlagged(t *testing.T, b []byte) (judged int) {
	var list []struct {
		A, R, S, M string
		Flags      []string
	}
	if json.Unmarshal(b, &list) != nil {
		return 0
	}
	bad := []string{"lowordera", "loworderr", "noncanonicala", "noncanonicalr", "loworderresidue", "reencodedk"}
	for i, v := range list {
		want := !slices.ContainsFunc(v.Flags, func(f string) bool { // as LowOrderA or low_order_A
			return slices.Contains(bad, strings.ToLower(strings.ReplaceAll(f, "_", "")))
		})
		judged += judgeOne(t, i, v.A, []byte(v.M), v.R+v.S, want)
	}
	return judged
}

func judgeGroups(t *testing.T, b []byte) (judged int) {
	var file struct {
		TestGroups []struct {
			Key, PublicKey struct{ Pk string }
			Tests          []struct {
				TcID             int
				Msg, Sig, Result string
			}
		}
	}
	if json.Unmarshal(b, &file) != nil {
		return 0
	}
	for _, g := range file.TestGroups {
		for _, v := range g.Tests {
			judged += judgeOne(t, v.TcID, g.Key.Pk+g.PublicKey.Pk, must(hex.DecodeString(v.Msg)), v.Sig,
				v.Result == "valid")
		}
	}
	return judged
}

func judgeOne(t *testing.T, id int, key string, message []byte, signature string, want bool) int {
	k, err := hex.DecodeString(key)
	if err != nil || len(k) != len(Key{}) {
		return 0
	}
	sig, err := hex.DecodeString(signature)
	if err != nil {
		return 0
	}
	if err := Key(k).verify(message, sig); (err == nil) != want {
		t.Errorf("%d: got %v, want good %v", id, err, want)
	}
	return 1
}

func BenchmarkVerify(b *testing.B) {
	s := must(GenerateSigner("author"))
	name := HashOf([]byte("entry"))
	sig := must(s.Sign(name))
	b.Run("rule", func(b *testing.B) {
		for b.Loop() {
			if s.Key().Verify(name, sig) != nil {
				b.Fatal("refused")
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		k := s.Key()
		for b.Loop() {
			if !ed25519.Verify(k[:], name[:], sig) {
				b.Fatal("refused")
			}
		}
	})
}

// TestASignatureIsVerifiedOnce: whoever reads a memory again pays for no signature again, and what is remembered is
// bounded.
func TestASignatureIsVerifiedOnce(t *testing.T) {
	s := must(GenerateSigner("once"))
	const n = 50
	var p proofs
	for range 3 {
		for i := range n {
			name := HashOf([]byte{byte(i)})
			sig := must(s.Sign(name))
			if !p.verify(s.Key(), name[:], sig) {
				t.Fatal("an honest signature does not verify")
			}
			other := HashOf(name[:])
			if p.verify(s.Key(), other[:], sig) {
				t.Fatal("a signature over something else verifies")
			}
		}
	}
	if p.made != n {
		t.Errorf("%d signatures were verified, want %d", p.made, n)
	}
	for i := range 3 * maxProofs {
		p.add(Hash{byte(i), byte(i >> 8), byte(i >> 16)})
	}
	if got := len(p.recent) + len(p.older); got > 2*maxProofs {
		t.Errorf("%d signatures are remembered, want %d at most", got, 2*maxProofs)
	}
}
