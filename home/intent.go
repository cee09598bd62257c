package home

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/jsontext"
	"github.com/perdure/perdure/internal/yamltext"
	"github.com/perdure/perdure/view"
)

// IntentFile is an intent as people write it, in YAML or JSON.
type IntentFile struct {
	Name      string            `yaml:"name"`
	Goal      string            `yaml:"goal"`
	Kind      string            `yaml:"kind"`
	Inputs    any               `yaml:"inputs"`
	Budget    BudgetFile        `yaml:"budget"`
	Deadline  string            `yaml:"deadline"`
	Advisor   string            `yaml:"advisor"`
	Tools     []string          `yaml:"tools"` // absent: whatever policy permits; empty: none
	Labels    map[string]string `yaml:"labels"`
	Scope     string            `yaml:"scope"`
	Depth     int64             `yaml:"depth"`
	TTL       string            `yaml:"ttl"`
	Approvers []string          `yaml:"approvers"`
	Delegates []string          `yaml:"delegates"` // whose nodes may run it and write to it

	StateSchema string   `yaml:"state_schema"` // a .lode file, or the hash of one the home has
	Policies    []string `yaml:"policies"`     // the agent's own: .cedar files, folders of them, or hashes
}

type BudgetFile struct {
	Cost   string `yaml:"cost"` // in US dollars
	Tokens *int64 `yaml:"tokens"`
	Calls  *int64 `yaml:"calls"`
}

// checkScope refuses a scope, as people name it, that is none, or reads as a path: a scope has no above, so that ..
// would only be taken for one.
func checkScope(scope string) error {
	for word := range strings.SplitSeq(scope, "/") {
		if word == "." || word == ".." {
			return fmt.Errorf("scope %q: a scope is not a path, and %s means nothing in it; want words joined by "+
				"slashes, such as acme/ops", scope, word)
		}
	}
	return perdure.CheckScope(scope)
}

// plainYAML is what a decoder says, in the words of whoever wrote the file.
func plainYAML(err error) error {
	return yamltext.Plain(err, map[string]string{"[]string": "a list, such as [a, b]",
		"map[string]string": "names and values", "string": "text", "int64": "a whole number",
		"home.BudgetFile": "cost, tokens and calls", "home.IntentFile": "fields, such as goal: …"})
}

// ReadIntent reads an intent file. A field it does not know is an error: it would be a wish nobody hears.
func ReadIntent(r io.Reader) (IntentFile, error) {
	var f IntentFile
	text, err := io.ReadAll(io.LimitReader(r, perdure.MaxBody))
	if err != nil {
		return f, err
	}
	if err := yamltext.Check(text); err != nil {
		return f, perdure.Invalid(plainYAML(err))
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil {
		if errors.Is(err, io.EOF) {
			return f, perdure.Invalid(errors.New("it is empty; write at least `goal: …`"))
		}
		return f, perdure.Invalid(plainYAML(err))
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return f, perdure.Invalid(errors.New("it holds more than one document; write one intent per file"))
	}
	var raw struct{ Inputs yaml.Node }
	if err := yaml.Unmarshal(text, &raw); err != nil {
		return f, perdure.Invalid(plainYAML(err))
	}
	if err := yamltext.Exact(&raw.Inputs); err != nil {
		return f, perdure.Invalid(fmt.Errorf("inputs: %w", err))
	}
	return f, nil
}

// Genesis is the agent the file describes.
func (f *IntentFile) Genesis(now time.Time) (perdure.Genesis, error) {
	g := perdure.Genesis{
		Intent: perdure.Intent{Name: f.Name, Goal: f.Goal, Kind: f.Kind, Advisor: f.Advisor, Tools: f.Tools,
			Labels: f.Labels},
		Charter: perdure.Charter{Scope: f.Scope, Depth: f.Depth},
	}
	if err := jsontext.UTF8(f); err != nil {
		return g, perdure.Invalid(err)
	}
	if g.Charter.Scope == "" {
		g.Charter.Scope = "home"
	}
	if err := checkScope(g.Charter.Scope); err != nil {
		return g, err
	}
	if strings.Contains(f.Advisor, ":") {
		return g, notAName(f.Advisor)
	}
	if f.Depth < 0 {
		return g, fmt.Errorf("depth %d: want 0 or more generations", f.Depth)
	}
	var err error
	if g.Charter.Approvers, err = keysOf("approver", f.Approvers); err != nil {
		return g, err
	}
	if g.Charter.Delegates, err = keysOf("delegate", f.Delegates); err != nil {
		return g, err
	}
	if g.Intent.Inputs, err = dataOfYAML(f.Inputs); err != nil {
		return g, fmt.Errorf("inputs: %w", err)
	}
	if g.Intent.Budget, err = f.Budget.Budget(); err != nil {
		return g, err
	}
	if g.Intent.Deadline, err = ParseDeadline(f.Deadline, now); err != nil {
		return g, fmt.Errorf("deadline: %w", err)
	}
	if f.TTL != "" {
		ttl, err := parseDuration(f.TTL)
		if err != nil || ttl < time.Millisecond {
			return g, fmt.Errorf("ttl %q: want a duration such as 720h or 30d", f.TTL)
		}
		g.Intent.TTL = ttl.Milliseconds()
	}
	return g, nil
}

// notAName refuses the source of an advisor where its name is wanted: no node has an advisor of such a name.
func notAName(source string) error {
	return perdure.WithHint(perdure.Invalid(fmt.Errorf("advisor %s: that is a source, and an agent names its advisor",
		view.Quoted(source))),
		"leave it out, and run the agent with --advisor "+source+"; or name the advisor in node.yaml, "+
			"advisors: {NAME: \""+source+"\"}, and say --advisor NAME here")
}

// keysOf are the keys of people who are something to an agent; nil for none.
func keysOf(what string, texts []string) ([]perdure.Key, error) {
	var keys []perdure.Key
	for _, text := range texts {
		k, _, err := perdure.ParseKey(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// nameKeys puts keys in the place of the names of people in an intent. A name is that of keys which are trusted here.
func (h *Home) nameKeys(f *IntentFile) error {
	if len(f.Approvers)+len(f.Delegates) == 0 {
		return nil
	}
	trust, err := h.Trust()
	if err != nil {
		return err
	}
	for _, list := range []struct {
		what string
		of   *[]string
	}{{"approver", &f.Approvers}, {"delegate", &f.Delegates}} {
		var keys []string
		for _, text := range *list.of {
			if _, _, err := perdure.ParseKey(text); err == nil {
				keys = append(keys, text)
				continue
			}
			named := keysCalled(trust, text)
			if len(named) == 0 {
				return perdure.WithHint(perdure.Invalid(fmt.Errorf("%s %q: it is not a key, and no key "+
					"of that name is trusted here", list.what, text)),
					"perdure key trust lists the names; perdure token new NAME --person "+
						"makes a key for a person, and perdure key show prints that of a home")
			}
			keys = append(keys, named...)
		}
		*list.of = keys
	}
	return nil
}

// keysCalled are the keys of a name that are trusted with anything.
func keysCalled(t *perdure.Trust, name string) (keys []string) {
	for _, who := range t.Trustees() {
		if k := who.Key.String(); who.Name == name && !who.Revoked && t.Allows(who.Key, who.Rights, who.Scope) &&
			!slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// putOver replaces what the file names in the intent and charter of another agent; the rest stays.
func (f *IntentFile) putOver(g *perdure.Genesis, now time.Time) error {
	with := *f
	if with.Scope == "" {
		with.Scope = g.Charter.Scope
	}
	n, err := with.Genesis(now)
	if err != nil {
		return err
	}
	in := &g.Intent
	for _, text := range []struct{ to, from *string }{
		{&in.Name, &n.Intent.Name}, {&in.Goal, &n.Intent.Goal}, {&in.Kind, &n.Intent.Kind},
		{&in.Advisor, &n.Intent.Advisor}, {&g.Charter.Scope, &n.Charter.Scope},
	} {
		if *text.from != "" {
			*text.to = *text.from
		}
	}
	if n.Intent.Inputs != nil {
		in.Inputs = n.Intent.Inputs
	}
	if n.Intent.Tools != nil {
		in.Tools = n.Intent.Tools
	}
	if n.Intent.Deadline != 0 {
		in.Deadline = n.Intent.Deadline
	}
	if n.Intent.TTL != 0 {
		in.TTL = n.Intent.TTL
	}
	if n.Charter.Depth != 0 {
		g.Charter.Depth = n.Charter.Depth
	}
	if n.Charter.Approvers != nil {
		g.Charter.Approvers = n.Charter.Approvers
	}
	if n.Charter.Delegates != nil {
		g.Charter.Delegates = n.Charter.Delegates
	}
	if len(n.Intent.Labels) > 0 {
		in.Labels = maps.Clone(in.Labels)
		if in.Labels == nil {
			in.Labels = map[string]string{}
		}
		maps.Copy(in.Labels, n.Intent.Labels)
	}
	if b := n.Intent.Budget; b != nil {
		all := perdure.Budget{}
		if in.Budget != nil {
			all = *in.Budget
		}
		for _, amount := range []struct{ to, from **int64 }{{&all.Cost, &b.Cost}, {&all.Tokens, &b.Tokens},
			{&all.Calls, &b.Calls}} {
			if *amount.from != nil {
				*amount.to = *amount.from
			}
		}
		in.Budget = &all
	}
	return nil
}

// Budget is the limit the file sets, or nil when it sets none.
func (b *BudgetFile) Budget() (*perdure.Budget, error) {
	out := perdure.Budget{Tokens: b.Tokens, Calls: b.Calls}
	if b.Cost != "" {
		cost, err := ParseDollars(b.Cost)
		if err != nil {
			return nil, fmt.Errorf("budget cost: %w", err)
		}
		out.Cost = &cost
	}
	for what, n := range map[string]*int64{"tokens": b.Tokens, "calls": b.Calls} {
		if n != nil && *n < 0 {
			return nil, fmt.Errorf("budget %s %d: want 0 or more", what, *n)
		}
	}
	if out == (perdure.Budget{}) {
		return nil, nil
	}
	return &out, nil
}

// ParseDeadline reads a time, or a duration from now.
func ParseDeadline(s string, now time.Time) (perdure.Time, error) {
	if s == "" {
		return 0, nil
	}
	at, err := ParseMoment(s, now)
	if err != nil {
		return 0, err
	}
	if d, err := parseDuration(s); err == nil {
		at = now.Add(d)
	}
	if !at.After(now) {
		return 0, fmt.Errorf("%s has passed; name a later time", s)
	}
	return perdure.TimeOf(at), nil
}

// ParseDollars reads an amount in US dollars, such as 1.50, as millionths of one.
func ParseDollars(s string) (int64, error) {
	whole, part, _ := strings.Cut(strings.TrimPrefix(s, "$"), ".")
	if len(part) > 6 {
		return 0, fmt.Errorf("%q: the smallest amount is 0.000001 dollars", s)
	}
	n, err := strconv.ParseInt(whole+part+strings.Repeat("0", 6-len(part)), 10, 64)
	if err != nil || n < 0 || strings.HasPrefix(whole, "+") || whole == "" || n > math.MaxInt64/1024 {
		return 0, fmt.Errorf("%q: want US dollars, such as 1.50", s)
	}
	return n, nil
}

// dataOfYAML is what YAML or JSON decoded to, as Data; none for nothing.
func dataOfYAML(v any) (perdure.Data, error) {
	if v == nil {
		return nil, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%w: want what JSON can hold", err)
	}
	return perdure.DataFromJSON(bytes.TrimSpace(b))
}
