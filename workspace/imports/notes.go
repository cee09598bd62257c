package imports

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/perdure/perdure/internal/jsontext"
	"github.com/perdure/perdure/internal/yamltext"
	"github.com/perdure/perdure/workspace"
	"github.com/perdure/perdure/workspace/tasks"
)

// entity is something the MCP memory server knows about.
type entity struct {
	name, kind string
	observed   []string
	relations  [][2]string // how, to whom
}

// graphLine is a line of its file.
type graphLine struct {
	Type         string   `json:"type"`
	Name         string   `json:"name"`
	EntityType   string   `json:"entityType"`
	Observations []string `json:"observations"`
	From         string   `json:"from"`
	To           string   `json:"to"`
	RelationType string   `json:"relationType"`
}

// mcpMemory reads the file of the MCP memory server: one document for each entity, with links for its relations.
func (r *reader) mcpMemory(f *file) error {
	known := map[string]*entity{}
	var order []*entity
	of := func(name string) *entity {
		e := known[name]
		if e == nil {
			e = &entity{name: name}
			known[name] = e
			order = append(order, e)
		}
		return e
	}
	err := lines(f.text, func(number int, line []byte) error {
		var l graphLine
		err := json.Unmarshal(line, &l)
		switch {
		case err != nil:
			r.problem(f, number, "skipped: %s", jsontext.Fault(err))
		case l.Type == "entity" && l.Name != "":
			e := of(l.Name)
			if e.kind == "" {
				e.kind = l.EntityType
			}
			e.observed = append(e.observed, l.Observations...)
		case l.Type == "relation" && l.From != "" && l.To != "":
			e := of(l.From)
			of(l.To)
			e.relations = append(e.relations, [2]string{l.RelationType, l.To})
		default:
			r.problem(f, number, "skipped: it is neither an entity with a name nor a relation from one to another")
		}
		return nil
	})
	if err != nil {
		return err
	}
	paths, taken := map[string]string{}, map[string]bool{}
	for _, e := range order {
		name := nameOf(e.name)
		if taken[name] {
			name += "-" + digest(e.name)
		}
		taken[name] = true
		paths[e.name] = "entities/" + name + ".md"
	}
	for _, e := range order {
		x := e.document(paths, r.source.To)
		x.Origin = r.fileOrigin(f)
		if err := r.document(x, f, e.name); err != nil {
			return err
		}
	}
	return nil
}

func (e *entity) document(paths map[string]string, below string) workspace.Foreign {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", e.name)
	x := workspace.Foreign{Path: paths[e.name], Kind: workspace.KindObservation, Title: e.name, Format: MCPMemory}
	if e.kind != "" {
		fmt.Fprintf(&b, "Type: %s\n\n", e.kind)
		x.Tags = []string{e.kind}
	}
	for _, o := range e.observed {
		fmt.Fprintf(&b, "- %s\n", strings.ReplaceAll(o, "\n", "\n  "))
	}
	if len(e.relations) > 0 {
		b.WriteString("\n## Relations\n\n")
	}
	for _, rel := range e.relations {
		fmt.Fprintf(&b, "- %s %s ([[%s]])\n", rel[0], rel[1], path.Join(below, paths[rel[1]]))
	}
	x.Text = b.String()
	return x
}

// prd reads a prd.json, or a list of features, as a plan with a box for each.
func (r *reader) prd(f *file) error {
	before := len(r.Problems)
	l, err := tasks.ParseSome(path.Base(f.shown), f.text, func(line int, err error) {
		r.problem(f, line, "skipped: %v", err)
	})
	if err == nil && len(l.Tasks) == 0 && len(r.Problems) > before {
		return nil // there was none that could be read
	}
	if err != nil {
		r.problem(f, 0, "%v", err)
		return nil
	}
	title := l.Title
	if title == "" {
		title = strings.TrimSuffix(f.name, path.Ext(f.name))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", title)
	if l.Text != "" {
		b.WriteString("\n" + l.Text + "\n")
	}
	b.WriteString("\n## Tasks\n\n")
	for _, t := range l.Tasks {
		mark := " "
		if t.Done {
			mark = "x"
		}
		_, more, _ := strings.Cut(t.Text, "\n")
		fmt.Fprintf(&b, "- [%s] %s\n", mark, t.Title)
		for line := range strings.Lines(more) {
			if line = strings.TrimRight(line, "\n"); line != "" {
				b.WriteString("  " + line + "\n")
			}
		}
	}
	return r.document(workspace.Foreign{Path: "plans/" + nameOf(title) + ".md", Kind: workspace.KindPlan, Title: title,
		Text: b.String(), Format: PRD, Time: f.at, Origin: r.fileOrigin(f)}, f, f.name)
}

// markdown takes in a text as it is, at the path it has.
func (r *reader) markdown(f *file) error {
	x := workspace.Foreign{Path: f.name, Text: string(f.text), Format: Markdown, Time: f.at, Origin: r.fileOrigin(f)}
	if r.source.To == "" && f.alone {
		x.Path = "notes/" + f.name
	}
	if ext := path.Ext(x.Path); !strings.EqualFold(ext, ".md") {
		x.Path = strings.TrimSuffix(x.Path, ext) + ".md"
	}
	if first, _, _ := strings.Cut(x.Path, "/"); r.source.To == "" && first == "agents" {
		r.problem(f, 0, "skipped: agents/ is where roles keep private notes; import the folder with --to FOLDER")
		return nil
	}
	if strings.TrimSpace(x.Text) == "" {
		r.problem(f, 0, "skipped: it is empty")
		return nil
	}
	r.front(f, &x)
	return r.document(x, f, f.name)
}

// front reads what a text says about itself between lines of three dashes. The text keeps it.
func (r *reader) front(f *file, x *workspace.Foreign) {
	text := strings.ReplaceAll(strings.TrimPrefix(x.Text, "\ufeff"), "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	head, body, closed := strings.Cut(rest, "\n---\n")
	if !ok || !closed {
		return
	}
	var m struct {
		Title string    `yaml:"title"`
		Kind  string    `yaml:"kind"`
		Tags  yaml.Node `yaml:"tags"`
		Date  yaml.Node `yaml:"date"`
	}
	if err := yamltext.Unmarshal([]byte(head), &m); err != nil {
		r.problem(f, 1, "what it says about itself is not understood, and kept as text: %v", err)
		return
	}
	x.Title, x.Kind = m.Title, m.Kind
	if x.Title == "" { // else the dashes would be its title
		for line := range strings.Lines(body) {
			if line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#")); line != "" {
				x.Title = cut(line, 120)
				break
			}
		}
	}
	if m.Tags.Decode(&x.Tags) != nil {
		for _, t := range strings.FieldsFunc(m.Tags.Value, func(r rune) bool { return r == ',' || r == ' ' }) {
			x.Tags = append(x.Tags, t)
		}
	}
	if len(x.Tags) > maxTags {
		x.Tags = x.Tags[:maxTags]
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.Parse(layout, m.Date.Value); err == nil {
			x.Time = at
		}
	}
}

// maxTags leaves room for those that say where a text is from.
const maxTags = 48
