package home

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/forms"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/view"
)

// Verification is what is asked of a memory.
type Verification struct {
	perdure.VerifyOptions
	Policy     *policy.Set    // derive its decisions again; nil: not asked for
	Parent     string         // the agent or file it must descend from; empty: not asked for
	Identities []age.Identity // that decrypt a capsule
}

// Checked is what verification found. A memory that is whole may still lack entries that were seen here, or hold
// decisions that cannot be derived again: then OK is false.
type Checked struct {
	OK bool `json:"ok"`
	*perdure.Verified
	Depth   string               `json:"depth"`         // how much of the memory there is
	Cut     bool                 `json:"cut,omitempty"` // the file has no end: what is whole of it was verified
	Signers []Signer             `json:"signers"`
	Policy  *policy.Verification `json:"policy,omitempty"`
	Lineage *view.Descent        `json:"lineage,omitempty"`

	Manifest *Manifest   `json:"manifest,omitempty"`
	Older    *view.Older `json:"older,omitempty"`

	Holds perdure.Depth `json:"-"`
}

// Manifest is who signed the heads of a capsule together with those of others.
type Manifest struct {
	Key      perdure.Key  `json:"key"`
	Name     string       `json:"name,omitempty"`
	Trusted  string       `json:"trusted,omitempty"` // the rights and scopes it is trusted with
	Time     perdure.Time `json:"time"`
	Capsules int64        `json:"capsules"` // under one signature
}

// Signer is an author, and what this home knows of it.
type Signer struct {
	Key     perdure.Key `json:"key"`
	Name    string      `json:"name,omitempty"`
	Entries int64       `json:"entries"`
	Trusted string      `json:"trusted,omitempty"` // the rights and scopes it is trusted with
}

// errOlder says that a memory lacks what was seen of it.
var errOlder = errors.New("entries are missing")

// memory is one to be verified: an agent of a store, a capsule, or entries one after the other in a file.
type memory struct {
	entries  iter.Seq2[*perdure.Entry, error] // may be ranged over again
	total    int64                            // about how many; zero: not known
	read     Meter                            // of the file it is in
	depth    perdure.Depth
	older    *view.Older
	cut      bool
	stored   bool               // it is in a store, which doctor can repair
	manifest **capsule.Manifest // set once the capsule has been read; nil: it is none
}

// Verify verifies the memory of an agent or a file. What it found is returned also where it is not as asked; then the
// error says what is wrong.
func (h *Home) Verify(ctx context.Context, what string, o Verification) (r *Checked, err error) {
	if o.Parent == "" {
		err = h.withMemory(ctx, what, o.Identities, false, func(m *memory) error {
			r, err = h.verify(m, nil, o)
			return err
		})
		return r, err
	}
	err = h.withMemory(ctx, o.Parent, o.Identities, true, func(parent *memory) error {
		return h.withMemory(ctx, what, o.Identities, true, func(m *memory) error {
			r, err = h.verify(m, parent, o)
			return err
		})
	})
	return r, err
}

// withMemory calls f with the memory of an agent of the store, or in a file. Whole says that less will not do.
func (h *Home) withMemory(ctx context.Context, what string, ids []age.Identity, whole bool,
	f func(*memory) error) error {
	file, err := h.namesFile(ctx, what)
	if err != nil {
		return err
	}
	if file {
		return h.withFile(ctx, what, ids, whole, f)
	}
	return h.Use(ctx, false, func(ctx context.Context, s perdure.Store) error {
		id, err := h.FindAgent(ctx, s, what)
		if err != nil {
			return err
		}
		return h.withStored(ctx, s, id, f)
	})
}

func (h *Home) withStored(ctx context.Context, s perdure.Store, id perdure.AgentID, f func(*memory) error) (err error) {
	m := &memory{entries: perdure.Memory(ctx, s, id), total: entryCount(ctx, s, id), stored: true}
	if m.depth, err = perdure.DepthOf(ctx, s, id); err != nil {
		return err
	}
	if m.older, err = h.rolledBack(ctx, s, id); err != nil {
		return unread(err)
	}
	return f(m)
}

func (h *Home) withFile(ctx context.Context, name string, ids []age.Identity, whole bool, f func(*memory) error) error {
	is, err := isCapsule(name)
	if err != nil {
		return err
	}
	if !is {
		m := new(memory)
		m.entries = fileMemory(ctx, name, &m.read)
		return f(m)
	}
	r, done, err := OpenCapsule(name, ids)
	if err != nil {
		return err
	}
	head := r.Head()
	if err := done(); err != nil {
		return err
	}
	if whole && head.Depth != perdure.Full {
		return perdure.Invalid(fmt.Errorf("%s does not hold the whole memory; export the agent at depth full", name))
	}
	if cut, err := cutShort(ctx, name, ids, &head); err != nil {
		return err
	} else if cut {
		return h.withCut(ctx, name, f)
	}
	m := &memory{depth: head.Holds(), manifest: new(*capsule.Manifest)}
	m.entries = capsuleEntries(ctx, name, capsule.ReadOptions{Identities: ids}, &m.read,
		func(r *capsule.Reader) { *m.manifest = r.Manifest() })
	return f(m)
}

// withCut is withFile for what is whole of the file of a store.
func (h *Home) withCut(ctx context.Context, name string, f func(*memory) error) error {
	s, err := capsule.LookStore(name)
	if err != nil {
		return err
	}
	found, err := Candidates(ctx, s, "")
	if err == nil && len(found) != 1 {
		err = perdure.Missing("there is no agent in " + name)
	}
	if err == nil {
		if s.Torn() {
			h.note("%s was cut short while it was written: what is whole of it is looked at", name)
		}
		err = h.withStored(ctx, s, found[0].Agent, func(m *memory) error {
			m.cut = true
			return f(m)
		})
	}
	return errors.Join(err, s.Close())
}

// cutShort reports whether a file is that of a store and has no end: somebody is writing to it, or was stopped, or it
// was copied in the middle of that.
func cutShort(ctx context.Context, name string, ids []age.Identity, head *capsule.Head) (bool, error) {
	if !head.Grows() {
		return false, nil
	}
	// Whether it has an end is all that is looked at: signatures and links are verified after that.
	o := capsule.ReadOptions{Identities: ids, Shallow: true, Local: true}
	for _, err := range capsuleEntries(ctx, name, o, new(Meter), nil) {
		var r *perdure.Rejection
		if errors.As(err, &r) {
			return r.Predicate == capsule.PredComplete, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// verify verifies a memory, and what this home knows of its authors.
func (h *Home) verify(m, parent *memory, o Verification) (*Checked, error) {
	o.Progress = func(n int64) {
		if done, total := m.read.Read(); total > 0 {
			h.Progressed("verify bytes", min(done, total-1), total)
			return
		}
		h.Progressed("verify entries", n, m.total)
	}
	t, err := h.Trust()
	if err != nil {
		return nil, err
	}
	v, err := o.check(m)
	h.Progressed("", 0, 0)
	r := &Checked{OK: m.older == nil, Older: m.older, Verified: v, Depth: m.depth.String(), Cut: m.cut, Holds: m.depth}
	var derived *policy.Verification
	if err == nil && o.Policy != nil {
		derived, err = o.Policy.Verify(m.entries, t)
	}
	if err == nil && parent != nil {
		r.Lineage, err = view.Descend(m.entries, parent.entries, o.VerifyOptions)
	}
	// else it may be good, and not what was asked for
	if err != nil && m.stored && o.Trust == nil && o.Heads == nil && o.Policy == nil && parent == nil {
		err = unread(err)
	}
	if err != nil {
		return nil, err
	}
	if m.manifest != nil && *m.manifest != nil {
		by := signerOf(t, perdure.Origin{Key: (*m.manifest).Key})
		r.Manifest = &Manifest{Key: by.Key, Name: by.Name, Trusted: by.Trusted, Time: (*m.manifest).Time,
			Capsules: (*m.manifest).Count}
	}
	for _, origin := range v.Origins {
		r.Signers = append(r.Signers, signerOf(t, origin))
	}
	if derived != nil {
		err = r.audit(derived)
	}
	if m.older != nil {
		err = errors.Join(err, fmt.Errorf("%w: %s", errOlder, m.older))
	}
	return r, err
}

// check verifies a memory, or the end of one.
func (o *Verification) check(m *memory) (*perdure.Verified, error) {
	if o.Policy != nil && m.depth != perdure.Full {
		return nil, perdure.Invalid(errors.New("judging by policy takes the whole memory; export it at depth full"))
	}
	how := o.VerifyOptions
	how.Depth = m.depth
	return perdure.Verify(m.entries, how)
}

// audit adds what came of deriving the decisions of a memory again; a decision that does not hold is an error.
func (r *Checked) audit(v *policy.Verification) error {
	r.Policy = v
	unknown := slices.IndexFunc(v.Gaps, func(g policy.Gap) bool { return !g.Policy.IsZero() })
	switch {
	case len(v.Differences) > 0:
		r.OK = false
		return perdure.WithHint(fmt.Errorf("%s: %w", v.Differences[0], perdure.ErrRejected),
			"see perdure policy explain")
	case unknown >= 0:
		r.OK = false
		hint := "name the files of that policy, or keep them in the folder " + filepath.Join(PolicyDir, knownDir) +
			" of the home"
		return perdure.WithHint(fmt.Errorf("%s: %w", v.Gaps[unknown], perdure.ErrRejected), hint)
	}
	return nil
}

// unread is the error of a memory that is damaged, with what to do about it.
func unread(err error) error {
	var hinted *perdure.Hint
	if err == nil || errors.Is(err, perdure.ErrInvalid) || errors.As(err, &hinted) || errors.Is(err, context.Canceled) {
		return err
	}
	return perdure.WithHint(err, "perdure doctor --repair, or import a good copy")
}

// signerOf is what a trust file says of an author.
func signerOf(t *perdure.Trust, o perdure.Origin) Signer {
	s := Signer{Key: o.Key, Entries: o.Entries}
	var with []string
	for _, who := range t.Trustees() {
		if who.Key != o.Key {
			continue
		}
		if who.Name != "" {
			s.Name = who.Name
		}
		if who.Revoked {
			s.Trusted = ""
			return s
		}
		with = append(with, who.Rights.String()+" "+who.Scope)
	}
	slices.Sort(with)
	s.Trusted = strings.Join(with, "; ")
	return s
}

// namesFile reports whether an argument names a file rather than an agent. A word that is both is refused.
func (h *Home) namesFile(ctx context.Context, arg string) (bool, error) {
	if view.IsPath(arg) {
		return true, nil
	}
	info, err := os.Stat(arg)
	if err != nil || !info.Mode().IsRegular() {
		return false, nil
	}
	if !h.there() {
		return true, nil // there is no store it could be in
	}
	err = h.Use(ctx, false, func(ctx context.Context, s perdure.Store) error {
		_, err := h.FindAgent(ctx, s, arg)
		return err
	})
	switch {
	case errors.Is(err, perdure.ErrNotFound):
		return true, nil
	case err != nil:
		return false, err
	}
	return false, perdure.Invalid(fmt.Errorf("%q is an agent and a file; write ./%s for the file, or use the id of "+
		"the agent", arg, arg))
}

// entryCount is about how many entries an agent has, from the index; zero when it is not known.
func entryCount(ctx context.Context, s perdure.Store, id perdure.AgentID) int64 {
	if l, ok := s.(perdure.Lister); ok {
		for one, err := range l.List(ctx, perdure.Filter{Prefix: id.String()}) {
			if err == nil {
				return one.Entries
			}
		}
	}
	return 0
}

// capsuleEntries yields the entries of a capsule, and shows the reader once all have been read. It can be ranged over
// again.
func capsuleEntries(ctx context.Context, name string, o capsule.ReadOptions, m *Meter,
	read func(*capsule.Reader)) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		r, done, err := openMetered(name, o, m)
		if err != nil {
			yield(nil, err)
			return
		}
		whole := true
		for e, err := range r.Entries() {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(e, err) || err != nil {
				whole = false
				break
			}
		}
		if whole && read != nil {
			read(r)
		}
		if err := done(); err != nil {
			yield(nil, err)
		}
	}
}

// fileMemory yields the entries of a memory in a file, one after the other. It can be ranged over again.
func fileMemory(ctx context.Context, name string, m *Meter) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		f, err := disk.Open(name)
		if err != nil {
			yield(nil, err)
			return
		}
		buffered := bufio.NewReader(m.Of(f))
		form := forms.Binary
		if first, err := buffered.Peek(1); err == nil && first[0] == '{' {
			form = forms.Text
		}
		for e, err := range forms.ReadMemory(buffered, form, perdure.Limits{Bytes: 2 * perdure.MaxBody}) {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(e, err) || err != nil {
				break
			}
		}
		_ = f.Close() // it was only read
	}
}

// Attest verifies a capsule deeply, whole with its fold if it holds the whole memory, and writes this home's signed
// word for it to the file beside it. It returns the word, with how many entries it is about.
func (h *Home) Attest(ctx context.Context, name string, ids []age.Identity) (*capsule.Attestation, int64, error) {
	key, err := h.Signer(ctx)
	if err != nil {
		return nil, 0, err
	}
	r, done, err := OpenCapsule(name, ids)
	if err != nil {
		return nil, 0, err
	}
	memory := capsuleEntries(ctx, name, capsule.ReadOptions{Identities: ids}, new(Meter), nil)
	if r.Head().Depth == perdure.Full {
		_, err = perdure.Verify(memory, perdure.VerifyOptions{})
	} else {
		_, err = capsule.Fold(r.Head(), memory)
	}
	var a *capsule.Attestation
	if err == nil {
		a, err = capsule.Attest(key, r, time.Now())
	}
	if err = errors.Join(err, done()); err != nil {
		return nil, 0, err
	}
	b, err := a.MarshalBinary()
	if err != nil {
		return nil, 0, err
	}
	err = disk.WriteWhole(name+AttestExt, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
	return a, r.Index().Entries, err
}

// believe reads a capsule shallowly, on the word in the file beside it of a key this home trusts everywhere.
func (h *Home) believe(name string, ids []age.Identity) (*capsule.Attestation, int64, error) {
	o := capsule.ReadOptions{Identities: ids}
	if err := OnWord(h, name, &o); err != nil {
		return nil, 0, err
	}
	r, done, err := openWith(name, o)
	if err != nil {
		return nil, 0, err
	}
	for _, err := range r.Entries() {
		if err != nil {
			return nil, 0, errors.Join(err, done())
		}
	}
	return o.Attestation, r.Index().Entries, done()
}

// Attested is a capsule and somebody's word that they verified it.
type Attested struct {
	OK      bool            `json:"ok"`
	Agent   perdure.AgentID `json:"agent"`
	Entries int64           `json:"entries"`
	Digest  perdure.Hash    `json:"digest"`
	By      perdure.Key     `json:"by"`
	Name    string          `json:"name,omitempty"` // what this home calls that key
	Time    perdure.Time    `json:"time"`
	Shallow bool            `json:"shallow"` // it was read on that word
}

// Attested attests to the capsule in a file or, shallow, reads it on the word of somebody who did.
func (h *Home) Attested(ctx context.Context, name string, ids []age.Identity, shallow bool) (*Attested, error) {
	is, err := isCapsule(name)
	if errors.Is(err, fs.ErrNotExist) && !view.IsPath(name) {
		return nil, perdure.WithHint(err,
			"only a capsule is attested to, and an agent of the store is none: write one with perdure export "+name)
	}
	if err == nil && !is {
		err = perdure.Invalid(errors.New("only a capsule is attested to; export the agent"))
	}
	if err != nil {
		return nil, err
	}
	var a *capsule.Attestation
	var entries int64
	if shallow {
		a, entries, err = h.believe(name, ids)
	} else {
		a, entries, err = h.Attest(ctx, name, ids)
	}
	if err != nil {
		return nil, err
	}
	return &Attested{true, a.Agent, entries, a.Digest, a.Key, h.KeyNames()[a.Key], a.Time, shallow}, nil
}

// VerifyStored is Verify of an agent in a store that is open.
func (h *Home) VerifyStored(ctx context.Context, s perdure.Store, id perdure.AgentID, o Verification) (r *Checked,
	err error) {
	err = h.withStored(ctx, s, id, func(m *memory) error { r, err = h.verify(m, nil, o); return err })
	return r, err
}

// ParseHeads reads the heads that a memory must have.
func ParseHeads(texts []string) (heads []perdure.Hash, err error) {
	for _, text := range texts {
		head, err := perdure.ParseHash(text)
		if err != nil {
			return nil, err
		}
		heads = append(heads, head)
	}
	return heads, nil
}
