package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/policy"
)

func verifyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "verify [flags] AGENT|FILE [POLICY…]",
		Short: "Check a whole memory, and say who wrote it",
		Long: `Verify checks every link, every hash and every signature of a memory, that each entry is covered by a signature of its author, and
that every snapshot is the fold of its past. It prints what was checked, by whom the entries are signed, and the head to publish:
whoever holds that hash can tell whether a copy is this memory, whole.

FILE is a capsule, or a memory in binary or text form; - is standard input. With --trusted, entries by keys the store's trust file does not name are refused; with
--head, a memory that does not end there.

With --policy every decision of policy is derived again, from the agent as its author saw it and from nothing else: the facts, the policy and the
verdict must be those recorded. Policies are the built-in one, those of the store and its folder ` + policyDir + `/` + knownDir + `/, and the files or
folders named after the agent, each a set of its own and all of them together. What cannot be derived because its body is gone is listed.

With --parent the lineage is verified across two memories: a decision of the parent must have created exactly this child, no wider than the parent
was then, and the head the parent recorded at the end must be in the child's memory; or the fork must be of an entry of the parent.

With --attest this store's key signs that it verified a capsule; whoever trusts that key everywhere can then verify the same bytes with --shallow,
which is quicker. A manifest in a capsule is checked, and who signed it is named.`,
		Example: `  perdure verify news
  perdure verify news --policy
  perdure verify ./news-0f3c.agent --policy policies/ old/
  perdure verify news --trusted --head 2f1c…
  perdure verify child.agent --parent parent.agent
  ssh there perdure export news - | perdure verify -
  perdure verify news.agent --attest
  perdure verify ./news-0f3c.agent --json`,
		Args:        cobra.MinimumNArgs(1),
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitRejected, exitInterrupted),
	}
	h, out := lookFlag(c), outputFlags(c)
	c.ValidArgsFunction = func(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		names, _ := agentArg(h)(c, args, word)
		return names, cobra.ShellCompDirectiveDefault
	}
	trusted := c.Flags().Bool("trusted", false, "refuse authors that the trust file does not name")
	heads := c.Flags().StringSlice("head", nil, "the head the memory must have, 64 hex digits; may be repeated")
	parent := c.Flags().String("parent", "", "the agent or file it must descend from, as its lineage says")
	byPolicy := c.Flags().Bool("policy", false, "derive every decision of policy again")
	ids := c.Flags().StringArray("identity", nil, "decrypt FILE with this file of age identities or SSH private key; may be repeated")
	pass := c.Flags().String("passphrase-file", "", "decrypt FILE with the passphrase in this file")
	attest := c.Flags().Bool("attest", false, "write FILE"+attestExt+": this store's signed word that FILE, a capsule, was verified here")
	shallow := c.Flags().Bool("shallow", false, "believe FILE"+attestExt+" if a key trusted everywhere signed it for exactly this capsule, and leave out links and signatures")
	c.RunE = func(c *cobra.Command, args []string) error {
		if _, err := out.check(); err != nil {
			return err
		}
		stream()
		what, policies, err := auditWords(c, args, *byPolicy)
		if err != nil {
			return err
		}
		o := verifying{}
		if o.Heads, err = parseHeads(*heads); err != nil {
			return misuse(c, err)
		}
		if err := h.locate(); err != nil {
			return err
		}
		if *trusted {
			t, err := h.trust()
			if err != nil {
				return err
			}
			o.Trust = t
		}
		if *byPolicy {
			if o.policy, err = auditPolicies(h, policies); err != nil {
				return err
			}
		}
		decrypt, err := identities(*ids, *pass)
		if err != nil {
			return err
		}
		if what == "-" {
			if *attest || *shallow {
				return misuse(c, errors.New("--attest and --shallow are about two files; standard input is none"))
			}
			spooled, remove, err := spool(c)
			if err != nil {
				return err
			}
			defer remove()
			what = spooled
		}
		if *attest || *shallow {
			return attested(c, h, out, what, decrypt, *shallow, o)
		}
		if *parent != "" {
			return verifyBoth(c, h, out, what, *parent, o, decrypt)
		}
		file, err := namesFile(h, what)
		if err != nil {
			return err
		}
		if file {
			return verifyFile(c, h, out, what, o, decrypt)
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			id, err := findAgent(ctx, c, s, what)
			if err != nil {
				return err
			}
			if o.older, err = h.rolledBack(ctx, s, id); err != nil {
				return refusal(out, unread(err))
			}
			err = verify(c, h, out, entryCount(ctx, s, id), perdure.Memory(ctx, s, id), o)
			if o.Trust != nil || o.Heads != nil || o.policy != nil || o.parent != nil {
				return err // it may be good, and not what was asked for
			}
			return unread(err)
		})
	}
	return c
}

// parseHeads reads the heads a memory must have.
func parseHeads(texts []string) (heads []perdure.Hash, err error) {
	for _, text := range texts {
		head, err := perdure.ParseHash(text)
		if err != nil {
			return nil, fmt.Errorf("--head: %w", err)
		}
		heads = append(heads, head)
	}
	return heads, nil
}

// verifying is what is asked of a memory.
type verifying struct {
	perdure.VerifyOptions
	policy *policy.Set                      // derive its decisions again; nil: not asked for
	parent iter.Seq2[*perdure.Entry, error] // it must descend from; nil: not asked for

	older *older // this home has seen more of it; nil: it has not

	manifest **capsule.Manifest // set once the capsule has been read; nil: there is no capsule
}

// namesFile reports whether an argument names a file rather than an agent. A word that is both is refused.
func namesFile(h *home, arg string) (bool, error) {
	if isPath(arg) {
		return true, nil
	}
	info, err := os.Stat(arg)
	if err != nil || !info.Mode().IsRegular() {
		return false, nil
	}
	if _, err := os.Stat(h.file); err != nil {
		return true, nil // there is no store it could be in
	}
	err = h.use(false, func(ctx context.Context, s perdure.Store) error {
		_, err := findAgent(ctx, h.c, s, arg)
		return err
	})
	switch {
	case errors.Is(err, perdure.ErrNotFound):
		return true, nil
	case err != nil:
		return false, err
	}
	return false, misuse(h.c, fmt.Errorf("%q is an agent and a file; write ./%s for the file, or use the id of the agent", arg, arg))
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

// verifyFile verifies the memory in a file: a capsule, or entries one after the other.
func verifyFile(c *cobra.Command, h *home, out *output, name string, o verifying, ids []age.Identity) error {
	is, err := isCapsule(name)
	if err != nil {
		return err
	}
	if !is {
		return verify(c, h, out, 0, fileMemory(c, name), o)
	}
	whole, err := wholeCapsule(name, ids)
	if err != nil {
		return refusal(out, err)
	}
	if whole {
		o.manifest = new(*capsule.Manifest)
		return verify(c, h, out, 0, capsuleEntries(c, name, ids, func(r *capsule.Reader) { *o.manifest = r.Manifest() }), o)
	}
	return verifyPart(c, h, out, name, o, ids)
}

// isCapsule tells a capsule from entries one after the other by how the file begins. Whatever is neither is read as a capsule, which
// says what is wrong.
func isCapsule(name string) (bool, error) {
	f, err := disk.Open(name)
	if err != nil {
		return false, err
	}
	first := make([]byte, 10)
	n, err := io.ReadFull(f, first)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // a short file is judged by what it has
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return false, err
	}
	const mapMajor = 5 // of CBOR, in which an entry is a map
	first = first[:n]
	entry := n > 0 && first[0]>>5 == mapMajor || bytes.HasPrefix(first, []byte(`{"body"`)) || bytes.HasPrefix(first, []byte(`{"header"`))
	return !entry, nil
}

// openCapsule opens a capsule file; close it by calling done.
func openCapsule(name string, ids []age.Identity) (r *capsule.Reader, done func() error, err error) {
	return openWith(name, capsule.ReadOptions{Identities: ids})
}

// openWith is openCapsule with options.
func openWith(name string, o capsule.ReadOptions) (r *capsule.Reader, done func() error, err error) {
	f, err := disk.Open(name)
	if err != nil {
		return nil, nil, err
	}
	besides, err := companions(name, &o)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	done = func() error { return errors.Join(f.Close(), besides()) }
	if r, err = capsule.NewReader(f, o); err != nil {
		return nil, nil, errors.Join(err, done())
	}
	return r, done, nil
}

// wholeCapsule reports whether a capsule says that it holds the whole memory.
func wholeCapsule(name string, ids []age.Identity) (bool, error) {
	r, done, err := openCapsule(name, ids)
	if err != nil {
		return false, err
	}
	return r.Head().Depth == capsule.Full, done()
}

// capsuleMemory yields the entries of a capsule. It can be ranged over again.
func capsuleMemory(c *cobra.Command, name string, ids []age.Identity) iter.Seq2[*perdure.Entry, error] {
	return capsuleEntries(c, name, ids, nil)
}

// capsuleEntries is capsuleMemory, and shows the reader once all entries have been read.
func capsuleEntries(c *cobra.Command, name string, ids []age.Identity, read func(*capsule.Reader)) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		r, done, err := openCapsule(name, ids)
		if err != nil {
			yield(nil, err)
			return
		}
		for e, err := range r.Entries() {
			if err == nil {
				err = c.Context().Err()
			}
			if !yield(e, err) || err != nil {
				read = nil
				break
			}
		}
		if read != nil {
			read(r)
		}
		if err := done(); err != nil {
			yield(nil, err)
		}
	}
}

// verifyPart verifies a capsule that does not hold the whole memory: what it holds is checked, what it stands for is somebody's word.
func verifyPart(c *cobra.Command, h *home, out *output, name string, o verifying, ids []age.Identity) error {
	if o.Trust != nil {
		return misuse(c, errors.New("--trusted needs the whole memory; export the agent at depth full"))
	}
	if o.policy != nil {
		return misuse(c, errors.New("--policy needs the whole memory; export the agent at depth full"))
	}
	r, done, err := openCapsule(name, ids)
	if err != nil {
		return refusal(out, err)
	}
	v := &perdure.Verified{Agent: r.Head().Agent}
	counts := map[perdure.Key]int64{}
	for e, err := range r.Entries() {
		if err = errors.Join(err, c.Context().Err()); err != nil {
			return errors.Join(refusal(out, err), done())
		}
		v.Entries++
		if e.BodyBytes() != nil {
			v.Bodies++
		}
		if e.Signature != nil {
			v.Signatures++
		}
		counts[e.Origin]++
	}
	v.Dropped, v.Heads, v.Taken = v.Entries-v.Bodies, r.Index().Heads, 1
	if o.Heads != nil && !slices.Equal(slices.SortedFunc(slices.Values(o.Heads), perdure.Hash.Compare), v.Heads) {
		return errors.Join(fmt.Errorf("%s does not end at the head given: it was cut short or grew", name), done())
	}
	a, err := capsule.Fold(r.Head(), capsuleMemory(c, name, ids))
	if err != nil {
		return errors.Join(refusal(out, err), done())
	}
	if v.Fold, err = a.Fold().Hash(); err != nil {
		return err
	}
	for k, n := range counts {
		v.Origins = append(v.Origins, perdure.Origin{Key: k, Entries: n})
	}
	slices.SortFunc(v.Origins, func(a, b perdure.Origin) int { return perdure.Hash(a.Key).Compare(perdure.Hash(b.Key)) })
	v.Diverged = a.Diverged()
	note(c, "%s holds depth %s only: what came before is taken on the word of who signed its snapshot", name, r.Head().Depth)
	return errors.Join(printChecked(h, out, v, nil, nil, r.Manifest(), nil), done())
}

// refusal is an error, printed as the result where that is for programs.
func refusal(out *output, err error) error {
	var refused *perdure.Rejection
	if format, _ := out.check(); errors.As(err, &refused) && format != formatTable {
		return errors.Join(&answered{err}, out.print(verdict{Rejection: refused}, nil))
	}
	return err
}

// fileMemory yields the entries of a memory in a file. It can be ranged over again.
func fileMemory(c *cobra.Command, name string) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		err := withInput(c, name, func(r io.Reader) error {
			buffered := bufio.NewReader(r)
			form := formBinary
			if first, err := buffered.Peek(1); err == nil && first[0] == '{' {
				form = formText
			}
			lim := perdure.Limits{Bytes: 2 * perdure.MaxBody}
			for e, err := range readMemory(buffered, form, lim) {
				if err == nil {
					err = c.Context().Err()
				}
				if err != nil || !yield(e, nil) {
					return err
				}
			}
			return nil
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// checked is what verify found, for people and programs.
type checked struct {
	OK bool `json:"ok"`
	*perdure.Verified
	Signers []signer             `json:"signers"`
	Policy  *policy.Verification `json:"policy,omitempty"`
	Lineage *descent             `json:"lineage,omitempty"`

	Manifest *manifestView `json:"manifest,omitempty"`
	Older    *older        `json:"older,omitempty"`
}

// manifestView is who signed the heads of a capsule together with those of others.
type manifestView struct {
	Key      perdure.Key  `json:"key"`
	Name     string       `json:"name,omitempty"`
	Trusted  string       `json:"trusted,omitempty"` // the rights and scopes it is trusted with
	Time     perdure.Time `json:"time"`
	Capsules int64        `json:"capsules"` // under one signature
}

// signer is an author, and what this home knows of it.
type signer struct {
	Key     perdure.Key `json:"key"`
	Name    string      `json:"name,omitempty"`
	Entries int64       `json:"entries"`
	Trusted string      `json:"trusted,omitempty"` // the rights and scopes it is trusted with
}

// verify verifies a memory and prints what was found.
func verify(c *cobra.Command, h *home, out *output, total int64, memory iter.Seq2[*perdure.Entry, error], o verifying) error {
	bar := newProgress(c, "verify", total)
	o.Progress = func(n int64) { bar.to(n) }
	v, err := perdure.Verify(memory, o.VerifyOptions)
	bar.end()
	if err != nil {
		return refusal(out, err)
	}
	var derived *policy.Verification
	if o.policy != nil {
		if derived, err = o.policy.Verify(memory); err != nil {
			return refusal(out, err)
		}
	}
	var from *descent
	if o.parent != nil {
		if from, err = descend(memory, o.parent, o.VerifyOptions); err != nil {
			return refusal(out, err)
		}
	}
	var m *capsule.Manifest
	if o.manifest != nil {
		m = *o.manifest
	}
	return printChecked(h, out, v, derived, from, m, o.older)
}

// rolledBack says what this home has seen of an agent that its memory lacks; nil: nothing, or the memory cannot be folded.
func (h *home) rolledBack(ctx context.Context, s perdure.Store, id perdure.AgentID) (*older, error) {
	a, err := perdure.Load(ctx, s, id)
	if err != nil {
		return nil, ctx.Err() // verify says what is wrong with it
	}
	return h.behind(ctx, s, a)
}

// unread is the error of a memory that is damaged, with what to do about it.
func unread(err error) error {
	var wrong *misused
	var hinted *advised
	if err == nil || errors.As(err, &wrong) || errors.As(err, &hinted) || errors.Is(err, context.Canceled) || errors.Is(err, errOlder) {
		return err
	}
	return &advised{err, "perdure doctor --repair, or import a good copy"}
}

// errOlder says that a memory lacks what was seen of it.
var errOlder = errors.New("entries are missing")

// printChecked prints what was verified, and what this home knows of the authors; derived and from are nil if that was not asked for.
func printChecked(h *home, out *output, v *perdure.Verified, derived *policy.Verification, from *descent, m *capsule.Manifest, old *older) error {
	r := checked{OK: old == nil, Verified: v, Lineage: from, Older: old}
	t, err := h.trust()
	if err != nil {
		return err
	}
	if m != nil {
		by := signerOf(t, perdure.Origin{Key: m.Key})
		r.Manifest = &manifestView{Key: m.Key, Name: by.Name, Trusted: by.Trusted, Time: m.Time, Capsules: m.Count}
	}
	for _, origin := range v.Origins {
		r.Signers = append(r.Signers, signerOf(t, origin))
	}
	var wrong error
	if derived != nil {
		wrong = r.audit(derived)
	}
	if old != nil {
		wrong = errors.Join(wrong, fmt.Errorf("%w: %s", errOlder, old))
	}
	if format, _ := out.check(); wrong != nil && format != formatTable {
		wrong = &answered{wrong}
	}
	return errors.Join(wrong, out.print(r, func(w io.Writer) error { return r.write(w) }))
}

// signerOf is what a trust file says of an author.
func signerOf(t *perdure.Trust, o perdure.Origin) signer {
	s := signer{Key: o.Key, Entries: o.Entries}
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

// write prints what was checked.
func (r *checked) write(w io.Writer) error {
	s := styleOf(w)
	t := table{tint: []func(string) string{s.head}}
	result := s.good("ok")
	if !r.OK {
		result = s.bad("the memory is whole, but not every decision holds")
	}
	if r.Older != nil {
		result = s.bad("what is there is good, but entries are missing")
	}
	t.add("verified", result+": agent "+r.Agent.String())
	t.add("entries", fmt.Sprintf("%d: every link, seq and hash", r.Entries))
	t.add("bodies", fmt.Sprintf("%d present, %d dropped", r.Bodies, r.Dropped))
	t.add("signatures", fmt.Sprintf("%d: every one, and every entry is covered by its author's", r.Signatures))
	t.add("snapshots", fmt.Sprintf("%d derived again and found the same, %d taken as they stand", r.Snapshots, r.Taken))
	if r.Policy != nil {
		writeAudit(w, &t, r.Policy)
	}
	if r.Lineage != nil {
		t.add("lineage", r.Lineage.String())
	}
	if m := r.Manifest; m != nil {
		t.add("manifest", fmt.Sprintf("signed by %s %s at %s, over %d capsules", cmp.Or(m.Name, "a key not known here"), m.Key, m.Time, m.Capsules))
	}
	for _, by := range r.Signers {
		name, trust := by.Name, by.Trusted
		if name == "" {
			name = "a key not known here"
		}
		if trust == "" {
			trust = s.warn("not trusted here")
		} else {
			trust = "trusted with " + trust
		}
		t.add("signed by", fmt.Sprintf("%s %s: %d entries, %s", name, by.Key, by.Entries, trust))
	}
	for _, d := range r.Diverged {
		t.add("diverged", d)
	}
	t.add("fold", r.Fold.String())
	for _, head := range r.Heads {
		t.add("head", head.String())
	}
	return t.write(w)
}
