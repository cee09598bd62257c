package script

import (
	"fmt"
	"regexp"

	"github.com/perdure/perdure"
)

// gone is what cannot be read any more of the past of a script, because its bodies were collected or the copy here has
// only the end of the memory. A condition that reads it must not be taken for one that does not hold: the script would
// take another branch, and could do again what it did.
type gone struct {
	results bool            // something of what the turns came to
	named   map[string]bool // what ended the sleep of a name
	last    bool            // what came last
	said    bool            // something that was said since the last advice
}

// lose notes an entry whose body is gone.
func (r *recorder) lose(e *perdure.Entry) {
	switch e.Kind {
	case perdure.KindAdvice:
		r.gone.said = false
	case perdure.KindDecision, perdure.KindOutcome:
	case perdure.KindEvent:
		if r.gone.said = true; e.TTL > 0 { // a message; what children and people's settling came to lasts as the rest
			return
		}
	case perdure.KindGenesis, perdure.KindSnapshot:
		return
	}
	r.gone.results, r.gone.last = true, true
}

// wokeLast records the end of a sleep that was collected meanwhile: the fold knows the last turn that was proposed.
func (r *recorder) wokeLast(a *perdure.Agent) {
	all := a.Fold().Proposals
	if r.waking == nil || len(all) == 0 || !a.Straight() {
		return
	}
	for _, act := range all[len(all)-1].Actions {
		if _, sleeps := act.(perdure.Sleep); sleeps {
			r.decided[r.waking.Sleep] = callOf(act)
			r.awoke(*r.waking)
		}
	}
}

// unknown is what a condition or a text reads of the turns up to one that cannot be read any more; empty: nothing. A
// field of something else that is called so, and a word that is quoted, are not it.
func (s *Advisor) unknown(p *past, condition string, done place) string {
	reads := func(name string) bool { return regexp.MustCompile(alone + name + `\b`).MatchString(condition) }
	switch {
	case p.gone.said && reads("said"):
		return "said"
	case done.turn == 0:
		return ""
	case p.gone.last && reads("last"):
		return "last"
	}
	read := resultName.FindAllStringSubmatch(condition, -1)
	for _, name := range read {
		if p.gone.named[name[1]] || p.gone.results && p.results[name[1]] == nil && s.named(name[1], done.turn) {
			return "results." + name[1]
		}
	}
	if p.gone.results && len(read) < len(anyResult.FindAllString(condition, -1)) {
		return "results"
	}
	return ""
}

var (
	resultName = regexp.MustCompile(alone + `results(?:\.|\["|\[')(\w+)`)
	anyResult  = regexp.MustCompile(alone + `results\b`)
)

const alone = `(?:^|[^\w."'])`

// named reports whether an action of a turn up to one has a name.
func (s *Advisor) named(name string, turn int) bool {
	for n := range min(turn, len(s.turns)) {
		for _, has := range s.turns[n].names {
			if has == name {
				return true
			}
		}
	}
	return false
}

// errGone says that a script cannot go on here.
func errGone(turn int, what string) error {
	return perdure.WithHint(fmt.Errorf("script: turn %d: %w: it reads %s, which has expired and was "+
		"collected: it could take another branch, and do again what was done", turn, perdure.ErrIncapable, what),
		"import a copy that still has it, or end the agent; vars stay")
}
