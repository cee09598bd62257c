package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/view"
)

func importCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "import [flags] FILE|SET|-",
		Short: "Take in an agent from a file, or those of a set",
		Long: `Import validates a capsule, all of it, and then adds its entries to the store; a bad one leaves nothing behind. A copy of an agent that is
here already is merged with it: entries are added, none is lost. A file that has nothing this store lacks adds nothing; an older copy than
the one here is refused.

Whose entries count here is what the trust file says (perdure key trust), and the charter of an agent whose owner it trusts. Entries by
other keys do not enter an agent that is here: the import is refused, and the message names the key. A new agent with such entries arrives
held: nothing of it counts, and nothing is done for it, until somebody here admits it. With --trusted it is refused.

A new agent is also a question for the policy, the action admit. A rule that permits it by name admits it, whoever wrote it; if policy
denies, nothing is written. Else it arrives paused, with no local budget until a person admits it.

perdure inbox shows what waits to be admitted; perdure show, what it is; perdure resume admits it. With --ready you admit it now.

A capsule of less than the whole memory (perdure export --depth) is taken in with fewer rights: nothing that must happen once is done from it,
and from a mere snapshot nothing but reading. Import the whole memory later, and they come back. Its snapshot is believed if a key trusted as
owner signed it; where not even genesis is there, one trusted in every scope.

SET is a folder that perdure export --set wrote: all its agents are taken in, one after the other.`,
		Example: `  perdure import news-0f3c.agent
  perdure import /media/stick/agents
  perdure import secret.agent --identity ~/.ssh/id_ed25519 --trusted`,
		Args:        cobra.ExactArgs(1),
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitDenied, exitRejected, exitInterrupted),
	}
	h, out := storeFlag(c).acting(), outputFlags(c)
	trusted := c.Flags().Bool("trusted", false, "refuse an agent that does not count here, instead of holding it")
	ready := c.Flags().Bool("ready", false, "admit it now, unless the policy denies that")
	shallow := c.Flags().Bool("shallow", false, "believe FILE"+attestExt+" if a key trusted everywhere signed it for exactly this capsule (perdure verify --attest), and validate less")
	var policies []string
	policyFlag(c, &policies)
	older := c.Flags().Bool("older", false, "an older copy than the one here is no error: nothing is added")
	most := c.Flags().String("max", "", fmt.Sprintf("refuse a capsule that has or unpacks to more bytes than this, such as 64MiB (default: %dGiB, unpacking to %dMiB and %d times its size)",
		int64(capsule.DefaultMaxBytes)>>30, capsule.DefaultUnpacked>>20, capsule.DefaultRatio))
	ids := c.Flags().StringArray("identity", nil, "decrypt with this file of age identities or SSH private key; may be repeated")
	pass := c.Flags().String("passphrase-file", "", "decrypt with the passphrase in this file")
	c.RunE = func(c *cobra.Command, args []string) error {
		if _, err := out.check(); err != nil {
			return err
		}
		stream()
		var o capsule.ImportOptions
		var err error
		if o.Identities, err = identities(*ids, *pass); err != nil {
			return err
		}
		if *most != "" {
			if o.MaxBytes, err = parseBytes(*most); err != nil || o.MaxBytes == 0 {
				return perdure.Invalid(fmt.Errorf("--max %q: want a number of bytes such as 4096, 64MiB or 1GiB", *most))
			}
		}
		src, done, err := importable(c, args[0], &o)
		if err != nil {
			return err
		}
		defer done()
		if *shallow && (src == nil || args[0] == "-") {
			return perdure.Invalid(errors.New("--shallow is about a capsule and the file beside it; name a FILE"))
		}
		o.Older = *older
		return h.use(true, func(ctx context.Context, s perdure.Store) error {
			key, err := h.signer(ctx)
			if err != nil {
				return err
			}
			trust, err := h.trust()
			if err != nil {
				return err
			}
			o.Key, o.Ready, o.Trust, o.Refuse = key, *ready, trust, *trusted
			if *shallow {
				if err := onWord(h.home, args[0], &o.ReadOptions); err != nil {
					return err
				}
			}
			set, err := loadPolicy(h.home, policies)
			if err != nil {
				return err
			}
			o.Admit = func(a *perdure.Agent) perdure.Verdict {
				return set.Admit(a, key.Key(), trust.Counts(a) == nil, time.Now())
			}
			if src == nil {
				return takeInSet(ctx, c, h, out, s, args[0], o)
			}
			r, err := h.takeIn(ctx, s, o, func(o capsule.ImportOptions) (*capsule.Arrival, error) { return capsule.Import(ctx, s, src, o) })
			if err != nil {
				return err
			}
			return out.print(r, func(w io.Writer) error {
				_, err := io.WriteString(w, arrivedText(r))
				return err
			})
		})
	}
	return c
}

// arrived is what import prints.
type arrived struct {
	Agent    perdure.AgentID `json:"agent"`
	Name     string          `json:"name,omitempty"`
	Relation string          `json:"relation"`          // to the copy that was here
	Verdict  string          `json:"verdict,omitempty"` // of the policy, on one that was not here
	Reason   string          `json:"reason,omitempty"`
	Depth    string          `json:"depth"`
	Entries  int64           `json:"entries"`
	Heads    []perdure.Hash  `json:"heads"`
	Paused   bool            `json:"paused"`
	Held     bool            `json:"held"` // it has entries that do not count here
	Standing string          `json:"standing"`

	from *capsule.Arrival
	got  *perdure.Agent // as it is here now
}

// takeIn takes a capsule in, by from, and tells whoever should know of it.
func (h *home) takeIn(ctx context.Context, s perdure.Store, o capsule.ImportOptions,
	from func(capsule.ImportOptions) (*capsule.Arrival, error)) (*arrived, error) {
	o.Progress = func(done, total int64) { h.progress("import", done, total) }
	got, err := from(o)
	if errors.Is(err, capsule.ErrDenied) {
		return nil, perdure.WithHint(fmt.Errorf("%w: %w", perdure.ErrDenied, err), "nothing was written; see perdure policy explain, or ask who wrote the policy")
	}
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx) // it is here: what follows only says so
	a, err := h.load(ctx, s, got.Head.Agent)
	if err != nil {
		return nil, err
	}
	if err := index(ctx, s, a); err != nil {
		return nil, err
	}
	if err := h.sight(ctx, s, a); err != nil {
		return nil, err
	}
	n, err := h.node(ctx, s)
	if err == nil {
		err = n.Arrived(ctx, a.ID())
	}
	if err != nil {
		h.note("%v; import it again to tell them", err)
	}
	if a, err = perdure.Load(ctx, s, a.ID()); err != nil { // it may have been told something
		return nil, err
	}
	if got.Stranger == nil || got.Admitted { // what strangers bring along is learned when somebody admits them
		if err := h.learn(ctx, s, a.ID()); err != nil {
			h.note("%v; it runs here once the home has it", err)
		}
	}
	r := &arrived{Agent: a.ID(), Name: a.Fold().Intent.Name, Relation: got.Relation.String(), Depth: a.Depth().String(), Entries: got.Index.Entries,
		Heads: a.Heads(), Paused: len(a.Fold().Paused) > 0, Standing: view.Standing(a, o.Trust, time.Now()), from: got, got: a}
	if got.Relation == capsule.Created {
		r.Verdict, r.Reason = got.Verdict.Answer.String(), got.Verdict.Reason
	}
	r.Held = got.Stranger != nil && !got.Admitted
	return r, nil
}

// arrivedText says what came of an import.
func arrivedText(r *arrived) string {
	got, a := r.from, r.got
	what := r.Relation
	if got.Relation == capsule.Same || got.Relation == capsule.Older {
		what += ", nothing new"
	}
	if got.Relation == capsule.Mended {
		what = fmt.Sprintf("it was damaged here, and now has what is good of both, %s it could not read before", view.Several(got.Healed.Gained, "entry"))
	}
	text := fmt.Sprintf("%s %s: %s, %d entries, now %s\n", view.Called(a), a.ID(), what, r.Entries, r.Standing)
	if d := a.Depth(); d != perdure.Full {
		text += "depth " + d.String() + ": here is " + d.Words() + "; import the whole memory to give it all its rights\n"
	}
	if got.Relation == capsule.Deeper && a.Depth() == perdure.Full {
		text += "the whole memory is here now: it has all its rights\n"
	}
	if r.Held {
		text += here("it is held: "+view.HeldText(got.Stranger)) + "\n"
	}
	if !got.Hold.IsZero() && a.Fold().Ended == nil {
		text += here("it arrived paused, with no local budget until admitted; look at it with perdure show "+view.Callable(a)+
			", then perdure resume "+view.Callable(a)) + "\n"
	}
	return text
}

// sight tells the witness what came, and people if this home has seen more of it.
func (h *home) sight(ctx context.Context, s perdure.Store, a *perdure.Agent) error {
	w, err := h.witness()
	if w == nil || err != nil {
		return err
	}
	seen, err := w.Seen(ctx, a.ID())
	if err != nil {
		return err
	}
	missing, err := perdure.Behind(ctx, s, a, seen)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		h.note("this copy is older than one seen here: it lacks entry %s; it does nothing until its owner says so with perdure resume --older", missing[0].Short())
		return nil
	}
	if at, err := h.placeOf(ctx, s); err != nil || a.Fold().SeatElsewhere(at) {
		return err
	}
	w.See(a.ID(), a.Fold().Seq, a.Heads())
	return nil
}

// importable opens what is to be imported, and what is beside it; nil for a set, which is opened as one.
func importable(c *cobra.Command, name string, o *capsule.ImportOptions) (io.ReadSeeker, func(), error) {
	if name == "-" {
		return seekable(c, name, o.MaxBytes)
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil, func() {}, nil
	}
	src, done, err := seekable(c, name, o.MaxBytes)
	if err != nil {
		return nil, nil, err
	}
	besides, err := companions(name, &o.ReadOptions)
	if err != nil {
		done()
		return nil, nil, err
	}
	return src, func() { done(); _ = besides() }, nil // they were only read
}

// seekable opens a file, or copies standard input to one that is gone afterwards: a capsule is read twice.
func seekable(c *cobra.Command, name string, most int64) (io.ReadSeeker, func(), error) {
	if name != "-" {
		f, err := disk.Open(name)
		if err != nil {
			return nil, nil, err
		}
		return f, func() { _ = f.Close() }, nil // it was only read
	}
	f, err := os.CreateTemp("", "perdure-import-*")
	if err != nil {
		return nil, nil, err
	}
	done := func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) } // a temporary file that stays does no harm
	err = withInput(c, "-", func(r io.Reader) error {
		_, err := io.Copy(f, io.LimitReader(r, cmp.Or(most, capsule.DefaultMaxBytes)+(1<<20)))
		return err
	})
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return f, done, nil
}
