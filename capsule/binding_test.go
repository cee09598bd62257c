package capsule

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"golang.org/x/crypto/ssh"

	"github.com/perdure/perdure"
)

func TestDetachedSignaturesComeBack(t *testing.T) {
	s, id := simple(t, 10)
	want := exported(t, s, id, Options{})
	for _, form := range forms {
		var sigs bytes.Buffer
		b := exported(t, s, id, Options{Form: form, Binding: Detached, Signatures: &sigs})
		entries, _, err := read(b, ReadOptions{Signatures: bytes.NewReader(sigs.Bytes())})
		if err != nil {
			t.Fatal(err)
		}
		back, _ := put(t, entries...)
		if !bytes.Equal(exported(t, back, id, Options{}), want) {
			t.Errorf("%v: entries with their detached signatures are not the ones exported", form)
		}
		_, _, err = read(b, ReadOptions{})
		refused(t, "without the signatures", err, PredBinding)
		_, _, err = read(want, ReadOptions{Signatures: bytes.NewReader(sigs.Bytes())})
		refused(t, "signatures beside inline ones", err, PredBinding)
		_, _, err = read(b, ReadOptions{Signatures: bytes.NewReader(sigs.Bytes()[:sigs.Len()-110])})
		refused(t, "without the last signature", err, "entry.sealed", "canon.truncated")
		_, _, err = read(b, ReadOptions{Signatures: bytes.NewReader(flip(sigs.Bytes(), sigs.Len()-3))})
		refused(t, "with a changed signature", err, "entry.signed")
		_, _, err = read(b, ReadOptions{Signatures: bytes.NewReader(
			append(bytes.Clone(sigs.Bytes()), sigs.Bytes()[sigs.Len()-103:]...))})
		refused(t, "with a signature too many", err, PredDetached)
		_, _, err = read(b, ReadOptions{Signatures: strings.NewReader("")})
		refused(t, "with an empty file", err, PredDetached)
		other, oid := simple(t, 3)
		var foreign bytes.Buffer
		exported(t, other, oid, Options{Binding: Detached, Signatures: &foreign})
		_, _, err = read(b, ReadOptions{Signatures: &foreign})
		refused(t, "with another agent's signatures", err, PredDetached)
	}
}

func TestOneSignatureCoversManyCapsules(t *testing.T) {
	w := newAuthor()
	for n := range 18 {
		if n == 0 {
			continue
		}
		var members []Member
		var stores []*perdure.MemStore
		for range n {
			g, a := w.genesis("m")
			es, a := w.commit(a, event("x", 10, 1))
			s, id := put(t, g, es[0])
			members, stores = append(members, Member{id, a.Heads()}), append(stores, s)
		}
		manifests, err := signMembers(w.Signer, began, members...)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range manifests {
			b := exported(t, stores[i], members[i].Agent, Options{Binding: WithManifest, Manifest: m})
			_, r, err := read(b, ReadOptions{})
			if err != nil {
				t.Fatalf("capsule %d of %d: %v", i, n, err)
			}
			if got := r.Manifest(); got.Key != w.Key() || got.Count != int64(n) {
				t.Fatalf("capsule %d of %d: manifest %+v", i, n, got)
			}
			for j := range manifests {
				if j != i {
					refused(t, "another's manifest", m.Check(members[j]), PredManifest)
				}
			}
			refused(t, "older heads", m.Check(Member{members[i].Agent, []perdure.Hash{perdure.Hash(members[i].Agent)}}),
				PredManifest)
			bad := *m
			bad.Count++
			refused(t, "another count", bad.Check(members[i]), PredManifest)
			bad = *m
			bad.Key = newAuthor().Key()
			refused(t, "another key", bad.Check(members[i]), PredManifest)
		}
	}
	if _, err := signMembers(w.Signer, began); err == nil {
		t.Error("a manifest of nothing was signed")
	}
	if _, err := signMembers(w.Signer, began, Member{}, Member{}); err == nil {
		t.Error("a manifest was signed that names an agent twice")
	}
}

func TestShallowNeedsAReason(t *testing.T) {
	s, id := simple(t, 10)
	w := newAuthor()
	good := exported(t, s, id, Options{})
	_, _, err := read(good, ReadOptions{Shallow: true})
	refused(t, "shallow from elsewhere", err, PredAttested)
	if _, _, err := read(good, ReadOptions{Shallow: true, Local: true}); err != nil {
		t.Fatalf("shallow of a local file: %v", err)
	}
	r := must(NewReader(bytes.NewReader(good), ReadOptions{}))
	a, err := Attest(w.Signer, r, began)
	if err != nil {
		t.Fatal(err)
	}
	var back Attestation
	if err := back.UnmarshalBinary(must(a.MarshalBinary())); err != nil || back != *a {
		t.Fatalf("attestation comes back as %+v, %v", back, err)
	}
	trusted := func(k perdure.Key) bool { return k == w.Key() }
	if _, _, err := read(good, ReadOptions{Shallow: true, Attestation: a, Trusted: trusted}); err != nil {
		t.Fatalf("shallow with an attestation: %v", err)
	}
	_, _, err = read(good, ReadOptions{Shallow: true, Attestation: a})
	refused(t, "an attestation nobody trusts", err, PredAttested)
	bad := *a
	bad.Digest[0] ^= 1
	_, _, err = read(good, ReadOptions{Shallow: true, Attestation: &bad, Trusted: trusted})
	refused(t, "a forged attestation", err, PredAttested)
	text := exported(t, s, id, Options{Form: Text})
	_, _, err = read(text, ReadOptions{Shallow: true, Attestation: a, Trusted: trusted})
	refused(t, "an attestation of another capsule", err, PredAttested)
	if _, err := Attest(w.Signer, must(NewReader(bytes.NewReader(good), ReadOptions{Shallow: true, Local: true})),
		began); err == nil {
		t.Error("somebody attested to what they had not looked at")
	}
	if _, err := Attest(w.Signer, must(NewReader(bytes.NewReader(flip(good, len(good)/2)), ReadOptions{})),
		began); err == nil {
		t.Error("somebody attested to a bad capsule")
	}
}

func TestCapsulesAreEncryptedToTheirReaders(t *testing.T) {
	s, id := withBlobs(t)
	plain := exported(t, s, id, Options{})
	x := must(age.GenerateX25519Identity())
	public, private := must2(ed25519.GenerateKey(rand.Reader))
	block := must(ssh.MarshalPrivateKey(private, ""))
	sshID := must(ParseIdentities(bytes.NewReader(pem.EncodeToMemory(block)), nil))
	sshTo := must(ParseRecipient(string(ssh.MarshalAuthorizedKey(must(ssh.NewPublicKey(public))))))
	locked := must(ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("open sesame")))
	lockedID := must(ParseIdentities(bytes.NewReader(pem.EncodeToMemory(locked)), func() ([]byte, error) {
		return []byte("open sesame"), nil
	}))
	to, as, err := Passphrase("correct horse battery staple")
	if err != nil {
		t.Fatal(err)
	}
	to.(*age.ScryptRecipient).SetWorkFactor(8)
	xTo := must(ParseRecipient(x.Recipient().String()))
	xID := must(ParseIdentities(strings.NewReader("# a comment\n"+x.String()+"\n"), nil))
	for name, c := range map[string]struct {
		to []age.Recipient
		as []age.Identity
	}{
		"X25519": {[]age.Recipient{xTo}, xID}, "SSH": {[]age.Recipient{sshTo}, sshID},
		"a locked SSH key": {[]age.Recipient{sshTo}, lockedID},
		"a passphrase":     {[]age.Recipient{to}, []age.Identity{as}}, "one of two": {[]age.Recipient{sshTo, xTo}, xID},
	} {
		var sigs bytes.Buffer
		b := exported(t, s, id, Options{Recipients: c.to, Binding: Detached, Signatures: &sigs})
		if bytes.Contains(b, []byte(Magic)) || bytes.Contains(sigs.Bytes(), []byte(signatureMagic)) {
			t.Fatalf("%s: the capsule can be read without a key", name)
		}
		entries, r, err := read(b, ReadOptions{Identities: c.as, Signatures: bytes.NewReader(sigs.Bytes())})
		if err != nil || !r.Encrypted() {
			t.Fatalf("%s: %v", name, err)
		}
		back, _ := put(t, entries...)
		if !bytes.Equal(exported(t, back, id, Options{}), plain) {
			t.Fatalf("%s: something else was decrypted", name)
		}
		_, _, err = read(b, ReadOptions{Signatures: bytes.NewReader(sigs.Bytes())})
		refused(t, name+" without a key", err, PredRecipient)
		_, _, err = read(b, ReadOptions{Identities: []age.Identity{must(age.GenerateX25519Identity())},
			Signatures: bytes.NewReader(sigs.Bytes())})
		refused(t, name+" with another key", err, PredRecipient)
	}
	b := exported(t, s, id, Options{Recipients: []age.Recipient{xTo}})
	for _, i := range []int{len(b) / 2, len(b) - 3} {
		_, _, err := read(flip(b, i), ReadOptions{Identities: xID})
		refused(t, "changed encrypted bytes", err, PredRecipient)
		_, _, err = read(b[:i], ReadOptions{Identities: xID})
		refused(t, "encrypted and cut short", err, PredRecipient, PredComplete)
	}
	for _, bad := range []string{"", "age1nonsense", "ssh-ed25519 nonsense"} {
		if _, err := ParseRecipient(bad); err == nil {
			t.Errorf("recipient %q was read", bad)
		}
	}
}

func must2[A, B any](a A, b B, err error) (A, B) {
	if err != nil {
		panic(err)
	}
	return a, b
}

func TestASetSharesChunks(t *testing.T) {
	w := newAuthor()
	shared := event("shared", 400_000, 7)
	store := new(perdure.MemStore)
	var ids []perdure.AgentID
	for i := range 5 {
		g, a := w.genesis("../Näme of " + strings.Repeat("x", i))
		es, _ := w.commit(a, shared, event("own", 10, uint64(i)))
		if err := store.Put(t.Context(), g.ID(), g, es[0], es[1]); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, g.ID())
	}
	dir := filepath.Join(t.TempDir(), "set")
	set := must(OpenSet(dir))
	defer set.Close()
	for _, o := range []SetOptions{{}, {Options: Options{Form: Text, Binding: Detached}},
		{Options: Options{Binding: WithManifest}, Sign: w.Signer, Now: began}} {
		names, err := set.Export(t.Context(), store, o, ids...)
		if err != nil {
			t.Fatal(err)
		}
		if chunks, err := set.Verify(t.Context()); err != nil || chunks < 4 || chunks > 5*30 {
			t.Fatalf("%d chunks, %v, want those of one body and its variants", chunks, err)
		}
		i := 0
		for name, err := range set.Names() {
			if err != nil || strings.ContainsAny(name, "/ ä") {
				t.Fatalf("name %q, %v", name, err)
			}
			i++
		}
		if i != len(ids) || len(names) != len(ids) {
			t.Fatalf("%d capsules, want %d", i, len(ids))
		}
		for i, name := range names {
			to := new(perdure.MemStore)
			if _, err := set.Import(t.Context(), to, name, ImportOptions{Anyone: true}); err != nil {
				t.Fatalf("%+v: %v", o, err)
			}
			if foldHash(t, to, ids[i]) != foldHash(t, store, ids[i]) {
				t.Fatalf("%s folds to something else", name)
			}
		}
	}
	if got, err := set.Collect(t.Context(), true); err != nil || got.Chunks != 0 || got.Kept < 4 {
		t.Fatalf("every chunk is referred to, and %+v, %v would go", got, err)
	}
	name := FileName("../Näme of ", ids[0])
	var chunks []string
	if err := filepath.WalkDir(filepath.Join(dir, "chunks"), func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			chunks = append(chunks, p)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(chunks[0]); err != nil {
		t.Fatal(err)
	}
	missing := 0
	for _, id := range ids {
		for n := range set.Names() {
			if strings.Contains(n, id.Short()) {
				if _, err := set.Import(t.Context(), new(perdure.MemStore), n,
					ImportOptions{Anyone: true}); err != nil {
					refused(t, "a missing chunk", err, PredChunk)
					missing++
				}
			}
		}
	}
	if missing == 0 {
		t.Error("nobody missed a chunk")
	}
	for _, bad := range []string{"../etc/passwd", "/etc/passwd", "a/b.agent", "..", "", ".hidden.agent", `a\b.agent`} {
		_, err := set.Import(t.Context(), store, bad, ImportOptions{Anyone: true})
		refused(t, "name "+bad, err, PredName)
	}
	link := filepath.Join(dir, "link.agent")
	if err := os.Symlink(filepath.Join(dir, name), link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	_, err := set.Import(t.Context(), store, "link.agent", ImportOptions{Anyone: true})
	refused(t, "a symbolic link", err, PredName)
}
