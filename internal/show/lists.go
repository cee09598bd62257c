package show

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/notify"
	"github.com/perdure/perdure/view"
)

// Agents prints agents as a table. Depths have a column where some memory is not whole.
func Agents(w io.Writer, found []home.Listed, now time.Time) error {
	s := term.StyleOf(w)
	t := term.Table{Head: []string{"NAME", "ID", "STANDING", "SCOPE", "ENTRIES", "UPDATED", "NEXT"},
		Tint: []func(string) string{nil, s.Dim, s.State}, Whole: "ID",
		Drop: []string{"ENTRIES", "SCOPE", "UPDATED", "DEPTH", "NEXT"}}
	parts := slices.ContainsFunc(found, func(l home.Listed) bool {
		return l.Depth != "" && l.Depth != perdure.Full.String()
	})
	if parts {
		t.Head = append(t.Head, "DEPTH")
	}
	for _, l := range found {
		updated, after := "-", "-"
		if l.Updated != 0 {
			updated, after = view.Ago(l.Updated, now), l.Next(now)
		}
		cells := []string{cmp.Or(view.OneLine(l.Name, 40), "-"), l.Agent.Short(), string(l.Standing), l.Scope,
			strconv.FormatInt(l.Entries, 10), updated, after}
		if parts {
			cells = append(cells, l.Depth)
		}
		t.Add(cells...)
	}
	return t.Write(w)
}

// Tokens prints tokens as a table; the verbs, of which there may be many, go on below.
func Tokens(w io.Writer, all []home.TokenView) error {
	s, now := term.StyleOf(w), time.Now()
	t := term.Table{Head: []string{"ID", "NAME", "KEY", "SCOPE", "EXPIRES", "VERBS"}, Fold: true, Whole: "ID",
		Tint: []func(string) string{s.Dim, nil, s.Dim}}
	for _, one := range all {
		key := "-"
		if !one.Key.IsZero() {
			key = one.Key.Short()
		}
		t.Add(one.ID, view.OneLine(one.Name, 40), key, one.Scope, one.Ends(now), strings.Join(one.Verbs, ","))
	}
	return t.Write(w)
}

// Destinations prints who is told what happens to agents as a table.
func Destinations(w io.Writer, all []notify.Status) error {
	t := term.Table{Head: []string{"DESTINATION", "TOLD", "LAST", "GIVEN UP", "WHY"}, Fold: true}
	for _, s := range all {
		last, why := "-", s.Fault
		if s.Last != 0 {
			last = view.Moment(s.Last, time.Now())
		}
		if len(s.Dead) > 0 && why == "" {
			why = s.Dead[len(s.Dead)-1].Why
		}
		t.Add(s.Name, strconv.FormatInt(s.Sent, 10), last, strconv.FormatInt(int64(len(s.Dead))+s.Dropped, 10), why)
	}
	return t.Write(w)
}

// Trusted prints the lines of a trust file.
func Trusted(w io.Writer, lines []home.TrustLine) error {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text)
	}
	return term.Say(w, b.String())
}
