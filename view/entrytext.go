package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/perdure/perdure"
)

// editText says what an edit changed, and to what.
func editText(m *perdure.Mutate, set map[string]perdure.Data) string {
	texts := changedTo(m)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		texts = append(texts, "state "+name+" to "+DataText(set[name]))
	}
	return "changes " + strings.Join(texts, ", ") + Noted(m.Note)
}

// settleText says what somebody found out about an effect; act is that, if it is known.
func settleText(s *perdure.Settle, act perdure.Action) string {
	what := "settles " + s.Decision.Short() + " as " + s.Signal.String()
	if act != nil {
		what += ": " + ActionText(act)
	}
	if s.Result != nil {
		what += ", result " + DataText(s.Result)
	}
	return what + Noted(s.Note)
}

// doubtText says of which effect nobody can tell whether it happened, and why.
func doubtText(b *perdure.Event, act perdure.Action) string {
	note, _ := b.Data.Value().(map[string]any)
	tool, _ := note["tool"].(string)
	why, _ := note["why"].(string)
	what := cmp.Or(tool, "it")
	if act != nil {
		what = OneLine(ActionText(act), LineWidth)
	}
	return "in doubt whether this happened: " + what + Noted(strings.TrimSuffix(why, ": "+perdure.ErrInDoubt.Error()))
}

func adviceText(b *perdure.Advice) string {
	var parts []string
	for _, a := range b.Actions {
		parts = append(parts, ActionText(a))
	}
	what := "proposes " + strings.Join(parts, "; ")
	if len(parts) == 0 {
		what = "proposes nothing"
	}
	if b.Signal != 0 {
		what = "gives no advice"
	}
	if b.Text != "" {
		what += ": " + b.Text
	}
	if by := strings.TrimSpace(b.Advisor + " " + b.Model); by != "" {
		what = by + " " + what
	}
	return what
}

func decisionText(b *perdure.Decision, act perdure.Action) string {
	what := b.Verdict.Answer.String() + " " + ActionText(act)
	if b.Effect != 0 {
		what += " (" + b.Effect.String() + ")"
	}
	if len(b.Verdict.Rules) > 0 {
		what += " by " + strings.Join(b.Verdict.Rules, ", ")
	}
	if b.Verdict.Reason != "" {
		what += ": " + b.Verdict.Reason
	}
	return what
}

func outcomeText(b *perdure.Outcome, act perdure.Action) string {
	what := strings.TrimSpace(toolName(act))
	if what == "" {
		what = ActionText(act)
	}
	if took := b.Elapsed(); took >= time.Millisecond {
		what += " in " + took.Round(time.Millisecond).String()
	}
	if b.Reconciled {
		what += ", found out afterwards"
	}
	if b.Note != "" {
		what += ": " + b.Note
	} else if b.Result != nil {
		what += ": " + DataText(b.Result)
	}
	return what
}

// noticeWords are what notices are called: an event of such a name, or of one that is not a word, is quoted, so that it
// reads like nothing but the name of an event.
var noticeWords = []string{"pause", "resume", "cancel", "end", "approve", "approval", "deny", "settle", "grant", "edit",
	"admitted", "erased", "incapable", "in-doubt", "taken-back"}

func eventName(name string) string {
	other := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("._:/-", r)
	}
	if name == "" || strings.ContainsFunc(name, other) || slices.Contains(noticeWords, name) {
		return Quoted(name)
	}
	return name
}

// EventText is an event in a line.
func EventText(b *perdure.Event) string { return eventText(b, nil) }

// eventText is EventText of an event about an action, if that is known.
func eventText(b *perdure.Event, act perdure.Action) string {
	what, said := b.Name, "" // said follows who says it
	switch n := b.Notice.(type) {
	case nil:
		what = eventName(b.Name)
	case perdure.Approval:
		what = "approves " + n.Digest.Short()
		if !n.Approve {
			what = "refuses " + n.Digest.Short()
		}
		if n.Expires != 0 {
			what += " until " + n.Expires.Go().Local().Format("2006-01-02 15:04:05")
		}
		what += Noted(n.Note)
	case perdure.Settle:
		what = settleText(&n, act)
	case perdure.Grant:
		what = "grants " + spendText(n.Amount) + Noted(n.Note)
	case perdure.Pause:
		what, said = "paused", n.Note
	case perdure.Resume:
		if b.LetsGo() {
			return "goes on: it was held elsewhere"
		}
		what, said = "resumed", n.Note
	case perdure.Cancel:
		what, said = "ended", n.Note
	case perdure.ChildEnded:
		what = "child " + n.Child.Short() + " ended " + n.Signal.String() + Noted(n.Note)
	case perdure.Pruned:
		what = fmt.Sprintf("pruned %s, %s, by the %s", Several(n.Entries, "body"), Several(n.Bytes, "byte"), n.Rule)
	case perdure.Erased:
		what += Noted(n.Note)
	case perdure.Admitted:
		return "admitted" + Noted(n.Note)
	case perdure.Doubled:
		what = fmt.Sprintf("decisions %s and %s are of two copies: it may have happened twice", n.First.Short(),
			n.Second.Short())
	case perdure.SeatTaken:
		what = "the seat is in store " + n.At.Short() + Noted(n.Note)
	case perdure.SeatGiven:
		what = "hands over the seat" + Noted(n.Note)
	case perdure.Document:
		what = "document " + n.Path
		if n.Gone {
			what += " removed"
		} else if n.Title != "" {
			what += ": " + n.Title
		}
	case perdure.Enclosed:
		what = "enclosed the text of " + n.Kind + " " + n.Of.Short()
	case perdure.Lacks:
		what += " (" + n.Note + ")"
	case perdure.Joined:
		what = fmt.Sprintf("joins %d heads", n.Heads)
	case perdure.Escalated:
		what = fmt.Sprintf("escalated %s: nobody answered %s", Times(n.Stage), n.Decision.Short())
	case perdure.Edit:
		what = editText(&n.Mutate, b.Set)
	case perdure.Doubt:
		return doubtText(b, act)
	case perdure.KeyChange:
	}
	if b.By != "" {
		what += " by " + b.By
	}
	if said != "" {
		what += ": " + said
	}
	if text, plain := plainText(b.Data); plain {
		what += " " + Quoted(text)
	} else if b.Data != nil {
		what += " " + DataText(b.Data)
	}
	return what
}

func Noted(note string) string {
	if note == "" {
		return ""
	}
	return " (" + note + ")"
}
