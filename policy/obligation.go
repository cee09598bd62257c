package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// Obligation is what must come before a forbidden action is permitted after all: the approval of people. In a rule it
// is written
//
//	@obligation("approval:WHO,WHO;quorum=N;expires=DURATION;escalate=DURATION:WHO,WHO")
//
// where everything after the colon may be left out, and escalate may be there several times. WHO is "owner" for
// the owner of the agent, or the approvers its charter names in their place, "operator" for whoever is trusted to own
// it, or the name of a trusted key that may approve.
type Obligation struct {
	Asked    []string
	Quorum   int64         // how many must approve
	Expires  time.Duration // after that nobody's answer is waited for; zero: for ever
	Escalate []Stage       // earliest first
}

// Stage is whom else to ask about what nobody has answered for a time.
type Stage struct {
	After time.Duration
	Asked []string
}

const obligationForm = "approval:WHO,WHO;quorum=N;expires=DURATION;escalate=DURATION:WHO,WHO"

func parseObligation(text string) (*Obligation, error) {
	rest, ok := strings.CutPrefix(text, "approval:")
	if !ok {
		return nil, fmt.Errorf("@obligation(%q): want %s", text, obligationForm)
	}
	o := &Obligation{Quorum: 1}
	parts := strings.Split(rest, ";")
	o.Asked = people(parts[0])
	for _, who := range o.Asked {
		if strings.ContainsAny(who, " =\t") {
			return nil, fmt.Errorf("@obligation(%q): %q is no name: part names by commas, and what follows by "+
				"semicolons, as in %s", text, who, obligationForm)
		}
	}
	seen := map[string]bool{}
	for _, part := range parts[1:] {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if seen[key] && key != "escalate" {
			return nil, fmt.Errorf("@obligation(%q): %s is there twice", text, key)
		}
		seen[key] = true
		var err error
		switch key {
		case "quorum":
			o.Quorum, err = strconv.ParseInt(value, 10, 64)
			if err != nil || o.Quorum < 1 || o.Quorum > maxQuorum {
				return nil, fmt.Errorf("@obligation(%q): quorum %q: want 1 to %d", text, value, maxQuorum)
			}
		case "expires":
			if o.Expires, err = span(value); err != nil {
				return nil, fmt.Errorf("@obligation(%q): expires %w", text, err)
			}
		case "escalate":
			after, whom, _ := strings.Cut(value, ":")
			s := Stage{Asked: people(whom)}
			if s.After, err = span(after); err != nil {
				return nil, fmt.Errorf("@obligation(%q): escalate %w", text, err)
			}
			o.Escalate = append(o.Escalate, s)
		default:
			return nil, fmt.Errorf("@obligation(%q): %q: want quorum=N, expires=DURATION or escalate=DURATION:WHO,WHO",
				text, part)
		}
	}
	if err := o.checkStages(); err != nil {
		return nil, fmt.Errorf("@obligation(%q): %w", text, err)
	}
	return o, nil
}

// people is names parted by commas, ascending.
func people(text string) []string {
	var names []string
	for who := range strings.SplitSeq(text, ",") {
		if who = strings.TrimSpace(who); who != "" {
			names = append(names, who)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// span is how long a question waits.
func span(text string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || d < time.Second || d > maxExpiry {
		return 0, fmt.Errorf("%q: want a duration such as 90m or 24h, from 1s to %s", text, maxExpiry)
	}
	return d, nil
}

// checkStages refuses escalations that would never come, or come to nobody.
func (o *Obligation) checkStages() error {
	if n := len(o.Escalate); n > maxStages {
		return fmt.Errorf("%d escalations: want at most %d", n, maxStages)
	}
	last := time.Duration(0)
	for _, s := range o.Escalate {
		switch {
		case len(s.Asked) == 0:
			return fmt.Errorf("escalate=%s: want whom to ask then, as in escalate=30m:lead", shortSpan(s.After))
		case s.After <= last:
			return fmt.Errorf("escalate=%s: want it later than the one before", shortSpan(s.After))
		case o.Expires != 0 && s.After >= o.Expires:
			return fmt.Errorf("escalate=%s: the question expires after %s, before that", shortSpan(s.After),
				shortSpan(o.Expires))
		}
		last = s.After
	}
	return nil
}

// String is the obligation in words.
func (o *Obligation) String() string {
	var b strings.Builder
	b.WriteString("asks")
	if o.Quorum > 1 || len(o.Asked) == 0 {
		fmt.Fprintf(&b, " %d", o.Quorum)
	}
	if o.Quorum > 1 && len(o.Asked) > 0 {
		b.WriteString(" of")
	}
	if len(o.Asked) > 0 {
		b.WriteString(" " + strings.Join(o.Asked, ", "))
	} else {
		b.WriteString(" approver")
		if o.Quorum > 1 {
			b.WriteByte('s')
		}
	}
	for _, s := range o.Escalate {
		fmt.Fprintf(&b, "; after %s also %s", shortSpan(s.After), strings.Join(s.Asked, ", "))
	}
	if o.Expires != 0 {
		fmt.Fprintf(&b, "; denied after %s", shortSpan(o.Expires))
	}
	return b.String()
}

// MarshalJSON writes durations as rules have them.
func (o *Obligation) MarshalJSON() ([]byte, error) {
	type stage struct {
		After string   `json:"after"`
		Asked []string `json:"asked"`
	}
	v := struct {
		Asked    []string `json:"asked,omitempty"`
		Quorum   int64    `json:"quorum"`
		Expires  string   `json:"expires,omitempty"`
		Escalate []stage  `json:"escalate,omitempty"`
	}{Asked: o.Asked, Quorum: o.Quorum}
	if o.Expires != 0 {
		v.Expires = shortSpan(o.Expires)
	}
	for _, s := range o.Escalate {
		v.Escalate = append(v.Escalate, stage{shortSpan(s.After), s.Asked})
	}
	return json.Marshal(v)
}

// shortSpan is a duration without the parts that are nothing.
func shortSpan(d time.Duration) string {
	text := d.String()
	for _, none := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, none) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// join adds the obligation to a verdict that has others. Whoever asks the same people asks once; asking other people
// adds to the quorum.
func (o *Obligation) join(v *perdure.Verdict, quorums map[string]int64, now perdure.Time) {
	for _, who := range o.Asked {
		if i, found := slices.BinarySearch(v.Asked, who); !found {
			v.Asked = slices.Insert(v.Asked, i, who)
		}
	}
	whom := strings.Join(o.Asked, ",")
	if before := quorums[whom]; o.Quorum > before {
		v.Quorum, quorums[whom] = v.Quorum+o.Quorum-before, o.Quorum
	}
	if o.Expires > 0 {
		if at := now.Add(o.Expires); v.Expires == 0 || at < v.Expires {
			v.Expires = at
		}
	}
	for _, s := range o.Escalate {
		v.Escalate = append(v.Escalate, perdure.Escalation{At: now.Add(s.After), Asked: s.Asked})
	}
}

// settle orders the escalations of a verdict that asks: those at one time are one, nobody is asked twice, and none
// comes when the question has expired.
func settle(v *perdure.Verdict) {
	if len(v.Escalate) == 0 {
		return
	}
	slices.SortStableFunc(v.Escalate, func(a, b perdure.Escalation) int { return cmp.Compare(a.At, b.At) })
	asked := slices.Clone(v.Asked)
	var out []perdure.Escalation
	for _, e := range v.Escalate {
		var more []string
		for _, who := range e.Asked {
			if !slices.Contains(asked, who) {
				asked, more = append(asked, who), append(more, who)
			}
		}
		switch n := len(out); {
		case len(more) == 0 || v.Expires != 0 && e.At >= v.Expires:
		case n > 0 && out[n-1].At == e.At:
			out[n-1].Asked = append(out[n-1].Asked, more...)
			slices.Sort(out[n-1].Asked)
		default:
			out = append(out, perdure.Escalation{At: e.At, Asked: more})
		}
	}
	v.Escalate = out
}
