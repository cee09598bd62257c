package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/view"
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
verdict must be those recorded. Policies are the built-in one, those of the store and its folder ` + home.PolicyDir + `/` + home.KnownDir + `/, and the files or
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
	f := verifyFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if _, err := out.check(); err != nil {
			return err
		}
		stream()
		return f.run(c, h, out, args)
	}
	return c
}

// verifyFlag is the flags of verify.
type verifyFlag struct {
	trusted, policy, attest, shallow bool
	heads, ids                       []string
	parent, pass                     string
}

func verifyFlags(c *cobra.Command) *verifyFlag {
	f, fl := new(verifyFlag), c.Flags()
	fl.BoolVar(&f.trusted, "trusted", false, "refuse authors that the trust file does not name")
	fl.StringSliceVar(&f.heads, "head", nil, "the head the memory must have, 64 hex digits; may be repeated")
	fl.StringVar(&f.parent, "parent", "", "the agent or file it must descend from, as its lineage says")
	fl.BoolVar(&f.policy, "policy", false, "derive every decision of policy again")
	fl.StringArrayVar(&f.ids, "identity", nil, "decrypt FILE with this file of age identities or SSH private key; may be repeated")
	fl.StringVar(&f.pass, "passphrase-file", "", "decrypt FILE with the passphrase in this file")
	fl.BoolVar(&f.attest, "attest", false, "write FILE"+home.AttestExt+": this store's signed word that FILE, a capsule, was verified here")
	fl.BoolVar(&f.shallow, "shallow", false, "believe FILE"+home.AttestExt+" if a key trusted everywhere signed it for exactly this capsule, and leave out links and signatures")
	return f
}

// asked is what the flags ask of a memory.
func (f *verifyFlag) asked(c *cobra.Command, h *homeFlag, policies []string) (o verifying, err error) {
	if o.Heads, err = parseHeads(f.heads); err != nil {
		return o, perdure.Invalid(err)
	}
	if err := h.Locate(); err != nil {
		return o, err
	}
	if f.trusted {
		if o.Trust, err = h.Trust(); err != nil {
			return o, err
		}
	}
	if f.policy {
		o.policy, err = home.AuditPolicies(h.Home, policies)
	}
	return o, err
}

func (f *verifyFlag) run(c *cobra.Command, h *homeFlag, out *output, args []string) error {
	what, policies, err := auditWords(c, args, f.policy)
	if err != nil {
		return err
	}
	o, err := f.asked(c, h, policies)
	if err != nil {
		return err
	}
	decrypt, err := home.Identities(f.ids, f.pass)
	if err != nil {
		return err
	}
	if what == "-" {
		if f.attest || f.shallow {
			return perdure.Invalid(errors.New("--attest and --shallow are about two files; standard input is none"))
		}
		spooled, remove, err := spool(c)
		if err != nil {
			return err
		}
		defer remove()
		what = spooled
	}
	switch {
	case f.attest || f.shallow:
		return attested(c, h, out, what, decrypt, f.shallow, o)
	case f.parent != "":
		return verifyBoth(c, h, out, what, f.parent, o, decrypt)
	}
	file, err := namesFile(c.Context(), h.Home, what)
	if err != nil {
		return err
	}
	if file {
		return verifyFile(c, h, out, what, o, decrypt)
	}
	return h.use(false, func(ctx context.Context, s perdure.Store) error {
		id, err := home.Find(ctx, s, what)
		if err != nil {
			return err
		}
		return verifyStored(ctx, c, h, out, s, id, o)
	})
}

// verifyStored verifies an agent of a store.
func verifyStored(ctx context.Context, c *cobra.Command, h *homeFlag, out *output, s perdure.Store, id perdure.AgentID, o verifying) (err error) {
	if o.depth, err = perdure.DepthOf(ctx, s, id); err != nil {
		return err
	}
	if o.older, err = h.RolledBack(ctx, s, id); err != nil {
		return refusal(out, unread(err))
	}
	err = verify(c, h, out, entryCount(ctx, s, id), perdure.Memory(ctx, s, id), o)
	if o.Trust != nil || o.Heads != nil || o.policy != nil || o.parent != nil {
		return err // it may be good, and not what was asked for
	}
	return unread(err)
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

	older *view.Older // this home has seen more of it; nil: it has not

	manifest **capsule.Manifest // set once the capsule has been read; nil: there is no capsule
	depth    perdure.Depth      // how much of the memory there is
	cut      bool               // the file ends in the middle of an entry, which was left out
}

// namesFile reports whether an argument names a file rather than an agent. A word that is both is refused.
func namesFile(ctx context.Context, h *home.Home, arg string) (bool, error) {
	if view.IsPath(arg) {
		return true, nil
	}
	info, err := os.Stat(arg)
	if err != nil || !info.Mode().IsRegular() {
		return false, nil
	}
	if _, err := os.Stat(h.File); err != nil {
		return true, nil // there is no store it could be in
	}
	err = h.Use(ctx, false, func(ctx context.Context, s perdure.Store) error {
		_, err := home.Find(ctx, s, arg)
		return err
	})
	switch {
	case errors.Is(err, perdure.ErrNotFound):
		return true, nil
	case err != nil:
		return false, err
	}
	return false, perdure.Invalid(fmt.Errorf("%q is an agent and a file; write ./%s for the file, or use the id of the agent", arg, arg))
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
