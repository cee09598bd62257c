package home_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/keeper"
	"github.com/perdure/perdure/view"
)

func TestAKeyMayWhatEachLineOfTrustSays(t *testing.T) {
	t.Parallel()
	h := &home.Home{URL: filepath.Join(t.TempDir(), "home")}
	within(t, h, func(ctx context.Context, s perdure.Store) error {
		k, err := perdure.GenerateSigner("ana")
		if err != nil {
			return err
		}
		for scope, right := range map[string]perdure.Right{
			perdure.AnyScope: perdure.MayApprove, "acme/dev": perdure.MayAuthor, "acme/dev/own": perdure.MayOwn,
		} {
			if err := h.AddTrust(perdure.Trustee{Key: k.Key(), Name: "ana", Rights: right, Scope: scope}); err != nil {
				return err
			}
		}
		v, err := h.Peer(k.Key())
		if err != nil {
			return err
		}
		for _, x := range []struct {
			verb, scope string
			may         bool
		}{
			{home.VerbApprove, "acme/dev", true}, {home.VerbApprove, "other", true}, {home.VerbRead, "other", true},
			{home.VerbEvent, "acme/dev", true}, {home.VerbEvent, "acme/dev/x", true}, {home.VerbEvent, "acme", false},
			{home.VerbEvent, "other", false}, {home.VerbGrant, "acme/dev", false},
			{home.VerbCreate, "acme/dev", false}, {home.VerbCreate, "acme/dev/own", true},
			{home.VerbMCP, "acme/dev", false}, {home.VerbA2A, "acme/dev", false},
		} {
			if err := v.MayIn(x.verb, x.scope); (err == nil) != x.may {
				t.Errorf("%s in %s: got %v, want %v", x.verb, x.scope, err, x.may)
			}
		}
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		d := &home.Desk{Home: h, Store: s, Node: n}
		inside, err := d.Create(ctx, v, &home.IntentFile{Goal: "x", Name: "inside"})
		if err != nil || inside.Fold().Charter.Scope != "acme/dev/own" {
			t.Fatalf("got %v, want an agent in acme/dev/own", err)
		}
		outside := agentIn(ctx, t, h, s, "outside")
		for _, x := range []struct {
			a   *perdure.Agent
			may bool
		}{{inside, true}, {outside, false}} {
			id := x.a.ID().String()
			if _, _, err := d.Event(ctx, v, id, perdure.Event{Name: "ping"}); (err == nil) != x.may {
				t.Errorf("an event to %s: %v", x.a.Fold().Intent.Name, err)
			}
			if _, err := d.Pause(ctx, v, id, ""); (err == nil) != x.may {
				t.Errorf("a pause of %s: %v", x.a.Fold().Intent.Name, err)
			}
			word, _, err := n.Key.Commit(x.a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "pong"}})
			if err != nil {
				return err
			}
			_, err = home.Local{Desk: d, Visitor: v}.Take(ctx, x.a.ID(), func(yield func(*perdure.Entry, error) bool) {
				yield(word[0], nil)
			})
			if (err == nil) != x.may || err != nil && home.KindOf(err) != home.KindDenied {
				t.Errorf("entries of %s that are pushed: %v", x.a.Fold().Intent.Name, err)
			}
			if _, err := d.Agent(ctx, v, id); err != nil {
				t.Errorf("a look at %s: %v", x.a.Fold().Intent.Name, err)
			}
		}
		if _, err := d.Fork(ctx, v, outside.ID().String(), home.Fork{Name: "f"}); home.KindOf(err) != home.KindDenied {
			t.Errorf("a fork into another scope: %v", err)
		}
		return nil
	})
}

// To let an agent go on, and to say what came of an effect, is a person's word, whatever verbs a program's token has.
func TestAProgramNeitherResumesNorSettles(t *testing.T) {
	t.Parallel()
	h := &home.Home{URL: filepath.Join(t.TempDir(), "home")}
	within(t, h, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		d := &home.Desk{Home: h, Store: s, Node: n}
		id := agentIn(ctx, t, h, s, "paused").ID().String()
		prog := &home.Visitor{Name: "ci", Verbs: home.Verbs, Scope: perdure.AnyScope}
		if _, err := d.Pause(ctx, prog, id, ""); err != nil {
			t.Errorf("a program cannot pause an agent: %v", err)
		}
		_, resume := d.Resume(ctx, prog, id, "")
		_, settle := d.Settle(ctx, prog, id, "00", perdure.Settle{Signal: perdure.Failed})
		for verb, err := range map[string]error{"resume": resume, "settle": settle} {
			if home.KindOf(err) != home.KindDenied || !strings.Contains(err.Error(), "no person stands behind") {
				t.Errorf("%s: %v, want it denied to a program", verb, err)
			}
		}
		prog.Speaks = true
		if _, err := d.Resume(ctx, prog, id, ""); err != nil {
			t.Errorf("a person cannot resume: %v", err)
		}
		return nil
	})
}

// The inbox offers a visitor what they may do, and of the rest says that somebody else must; what they may not do names
// the command that would permit it, whole.
func TestTheInboxOffersWhatTheVisitorMay(t *testing.T) {
	t.Parallel()
	h := &home.Home{URL: filepath.Join(t.TempDir(), "home")}
	within(t, h, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		d := &home.Desk{Home: h, Store: s, Node: n}
		id := agentIn(ctx, t, h, s, "paused").ID().String()
		visitor := func(name string, verbs ...string) *home.Visitor {
			text, _, err := h.OrderToken(home.TokenOrder{NewToken: home.NewToken{Name: name, Verbs: verbs,
				Scope: perdure.AnyScope}, Life: "1h", IsPerson: true})
			if err != nil {
				t.Fatal(err)
			}
			v, err := h.Visit(text, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		ann, bob := visitor("ann", home.VerbRead, home.VerbPause, home.VerbResume), visitor("bob", home.VerbRead)
		if _, err := d.Pause(ctx, ann, id, ""); err != nil {
			return err
		}
		for _, v := range []*home.Visitor{ann, bob} {
			found, _, _, err := d.InboxPage(ctx, v, "", 10, time.Now())
			if err != nil || len(found) != 1 {
				t.Fatalf("%s has %d things in the inbox, %v", v.Name, len(found), err)
			}
			p, err := d.Point(ctx, v, id)
			if err != nil {
				return err
			}
			sum, _, err := d.Summary(ctx, v, p)
			if err != nil || len(sum.Waits) != 1 {
				t.Fatalf("%s is shown %d things that wait, %v", v.Name, len(sum.Waits), err)
			}
			for door, w := range map[string]view.Wait{"the inbox": found[0], "the agent's page": sum.Waits[0]} {
				if (w.Answer != "") != (v == ann) || (w.Others != "") != (v == bob) {
					t.Errorf("in %s, %s is offered %q, and told %q", door, v.Name, w.Answer, w.Others)
				}
			}
		}
		hint := new(perdure.Hint)
		if _, err := d.Resume(ctx, bob, id, ""); !errors.As(err, &hint) ||
			!strings.Contains(hint.Do, "perdure token new bob --verbs read,resume --person --with FILE") {
			t.Errorf("got %v with hint %+v", err, hint)
		}
		text, _, err := h.OrderToken(home.TokenOrder{NewToken: home.NewToken{Name: "ci", Verbs: []string{home.VerbA2A},
			Scope: perdure.AnyScope}, Life: "1h"})
		if err != nil {
			return err
		}
		prog, err := h.Visit(text, time.Now())
		if err != nil {
			return err
		}
		through := prog.Through("an A2A client", home.VerbRead)
		for verb, want := range map[string]string{
			home.VerbAnswer: "perdure token new NAME --verbs a2a,answer --person", // a program answers nothing
			home.VerbExport: "perdure token new ci --verbs a2a,export",
		} {
			if err := through.May(verb); !errors.As(err, &hint) || !strings.Contains(hint.Do, want) {
				t.Errorf("%s by a program: got %v with hint %+v, want %s", verb, err, hint, want)
			}
		}
		return nil
	})
}

func TestAKeyOfSeveralScopesSeesTheseAlone(t *testing.T) {
	t.Parallel()
	h := &home.Home{URL: filepath.Join(t.TempDir(), "home")}
	within(t, h, func(ctx context.Context, s perdure.Store) error {
		k, err := perdure.GenerateSigner("ana")
		if err != nil {
			return err
		}
		for _, scope := range []string{"acme/dev", "acme/ops"} {
			who := perdure.Trustee{Key: k.Key(), Name: "ana", Rights: perdure.MayAuthor, Scope: scope}
			if err := h.AddTrust(who); err != nil {
				return err
			}
		}
		v, err := h.Peer(k.Key())
		if err != nil || v.Scope != "acme" || v.Everything() || v.Sees("acme") || !v.Sees("acme/ops/x") {
			t.Errorf("got %+v, %v", v, err)
		}
		return nil
	})
}

// What a key may in one scope it may not in another: it owns what is in acme, and is an author in beta.
func TestNotesOfAScopeAreForThoseWhoMayReadThemThere(t *testing.T) {
	h := &home.Home{URL: filepath.Join(t.TempDir(), "home"), Acts: true}
	if err := h.Locate(); err != nil {
		t.Fatal(err)
	}
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		friend, err := perdure.GenerateSigner("friend")
		if err != nil {
			return err
		}
		for _, who := range []perdure.Trustee{
			{Key: friend.Key(), Name: "friend", Rights: perdure.MayOwn, Scope: "acme"},
			{Key: friend.Key(), Name: "friend", Rights: perdure.MayAuthor, Scope: "beta"},
		} {
			if err := h.AddTrust(who); err != nil {
				return err
			}
		}
		notes, err := n.Create(ctx, perdure.Genesis{
			Intent:  perdure.Intent{Name: "notes", Goal: "be tested", Kind: keeper.Workspace},
			Charter: perdure.Charter{Scope: "beta"}})
		if err != nil {
			return err
		}
		v, err := h.Peer(friend.Key())
		if err != nil {
			return err
		}
		if v.MayIn(home.VerbMemory, "beta") == nil {
			t.Error("an author of beta may read memory there")
		}
		d := &home.Desk{Home: h, Store: s, Node: n}
		if d.Shows(ctx, v, notes.ID()) {
			t.Error("an author of beta is shown what keeps the notes of beta, because they own something in acme")
		}
		if v.MayEverywhere(home.VerbMemory) {
			t.Error("they may read all notes")
		}
		if got, _, err := d.List(ctx, v, perdure.Filter{}, "", 10); err != nil || len(got) != 0 {
			t.Errorf("listed: %+v %v", got, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
