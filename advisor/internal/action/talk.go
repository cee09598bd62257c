package action

import (
	"strings"

	"github.com/perdure/perdure"
)

// EndTurn makes what an advisor said without proposing anything the end of a turn, if the agent is one that people
// talk to.
func EndTurn(f *perdure.Fold, a *perdure.Advice) {
	if f.Intent.Kind == perdure.ChatKind && a.Signal == 0 && len(a.Actions) == 0 && strings.TrimSpace(a.Text) != "" {
		a.Actions, a.Text = []perdure.Action{Heeding(Say(a.Text))}, ""
	}
}

// Unspoken reports whether an agent is one that people talk to, and nobody has said anything yet: there is nothing
// to think about.
func Unspoken(f *perdure.Fold) bool {
	return f.Intent.Kind == perdure.ChatKind && f.Turns == 0 && len(f.Inbox) == 0
}

// Say is a text said to people: a sleep that ends when somebody answers.
func Say(text string) perdure.Sleep {
	return perdure.Sleep{Trigger: perdure.On{Event: perdure.AnswerEvent}, Note: text}
}

// Heeding is a sleep that also ends when the agent is told anything.
func Heeding(s perdure.Sleep) perdure.Sleep {
	of := []perdure.Trigger{s.Trigger}
	if list, ok := s.Trigger.(perdure.Any); ok {
		of = list.Of
	}
	s.Trigger = perdure.Any{Of: append(of[:len(of):len(of)], perdure.When{Condition: "size(inbox) > 0"})}
	return s
}
