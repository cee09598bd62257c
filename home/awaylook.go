package home

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/view"
)

// MaxLast is how many entries a server gives from the end.
const MaxLast = 1000

// Log calls show with the entries of a memory that are chosen, the last so many or all, and with follow goes on as they
// come until the agent has ended.
func (w *Away) Log(ctx context.Context, arg string, c view.Choice, last int, follow bool,
	show func(view.Line) error) error {
	after, err := w.past(ctx, arg, c, last, show)
	if err != nil || !follow {
		return err
	}
	t := client.Tail{Agent: arg, After: after, Kinds: names(c.Kinds), Tool: c.Tool, Lost: w.lost}
	return w.follow(ctx, t, c, func(l view.AgentLine) error { return show(l.Line) })
}

// past shows the entries there are, and returns the position behind them.
func (w *Away) past(ctx context.Context, arg string, c view.Choice, last int,
	show func(view.Line) error) (after string, err error) {
	q := url.Values{"limit": {strconv.Itoa(MaxLast)}, "kind": names(c.Kinds), "signal": names(c.Signals)}
	if c.Tool != "" {
		q.Set("tool", c.Tool)
	}
	if last > 0 && last <= MaxLast {
		q.Set("last", strconv.Itoa(last))
	}
	var kept []view.Line // of more than a server gives from the end, the last are kept while all are read
	for {
		page, _, err := get[client.Lines](ctx, w, "/v1/agents/"+url.PathEscape(arg)+"/entries?"+q.Encode())
		if err != nil {
			return "", err
		}
		for i := range page.Entries {
			one, err := lineFrom(&page.Entries[i])
			switch {
			case err != nil:
				return "", err
			case last > MaxLast:
				kept = append(kept, one.Line)
			default:
				if err := show(one.Line); err != nil {
					return "", err
				}
			}
		}
		if kept = slices.Clone(kept[max(len(kept)-last, 0):]); page.Next == "" || q.Has("last") {
			for _, one := range kept {
				if err := show(one); err != nil {
					return "", err
				}
			}
			return page.Position, nil
		}
		q.Set("after", page.Next)
	}
}

// names are the words of a choice.
func names[T interface{ String() string }](of []T) (words []string) {
	for _, x := range of {
		words = append(words, x.String())
	}
	return words
}

// lineFrom is a line of a server as one of a store is.
func lineFrom(l *client.Line) (out view.AgentLine, err error) {
	l.Cursor = ""
	out = view.AgentLine{Agent: l.Agent, Name: l.Name, Line: view.Line{Seq: l.Seq, Entry: l.Entry, Time: timeOf(l.Time),
		Origin: l.Origin, What: l.What, Tool: l.Tool, Parent: l.Parent, Signal: signalOf(l.Signal)}}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // as it is printed of a store
	err = enc.Encode(l)
	out.JSON = bytes.TrimSpace(text.Bytes())
	if k, bad := view.ParseName[perdure.Kind]("kind", l.Kind); bad == nil {
		out.Kind = k
	}
	switch out.Kind { // of these more is said
	case perdure.KindAdvice:
		out.Body = perdure.Advice{}
	case perdure.KindDecision:
		out.Body = perdure.Decision{}
	}
	return out, err
}

// signalOf reads a signal of a server; one of a newer server is none here.
func signalOf(word string) perdure.Signal {
	g, err := view.ParseName[perdure.Signal]("signal", word)
	if err != nil || word == "" {
		return 0
	}
	return g
}

// Transcript is the end of a conversation: of the last entries, at most MaxLast. Before says that there is more.
func (w *Away) Transcript(ctx context.Context, arg string, last int) (found []view.Said, before bool, err error) {
	if last <= 0 || last > MaxLast {
		last = MaxLast
	}
	talk, _, err := get[struct {
		Said   []sentAs[client.Said] `json:"said"`
		Before bool                  `json:"before"`
	}](ctx, w, "/v1/agents/"+url.PathEscape(arg)+"/transcript?last="+strconv.Itoa(last))
	for _, s := range talk.Said {
		x := &s.value
		found = append(found, view.Said{Seq: x.Seq, Entry: x.Entry, Time: timeOf(x.Time), Who: x.Who, What: x.What,
			Text: x.Text, Tool: x.Tool, Signal: signalOf(x.Signal), Sent: s.sent})
	}
	return found, talk.Before, err
}

// follow calls show with the lines of one agent, or of all, as they come.
func (w *Away) follow(ctx context.Context, t client.Tail, c view.Choice, show func(view.AgentLine) error) error {
	for l, err := range w.Client.Tail(ctx, t) {
		if err != nil {
			return err
		}
		one, err := lineFrom(&l)
		if err == nil && c.Fits(one.Line) {
			err = show(one)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Follow calls show with the lines of agents, or of all of them without any, as they come: one call at a time.
func (w *Away) Follow(ctx context.Context, args []string, c view.Choice, last int,
	show func(view.AgentLine) error) (err error) {
	if len(args) == 0 {
		args = []string{""}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var lock sync.Mutex
	ended := make(chan error, len(args))
	for _, arg := range args {
		go func() {
			t := client.Tail{Agent: arg, Last: last, Kinds: names(c.Kinds), Tool: c.Tool, Lost: w.lost}
			ended <- w.follow(ctx, t, c, func(one view.AgentLine) error {
				lock.Lock()
				defer lock.Unlock()
				return show(one)
			})
		}()
	}
	for range args {
		if bad := <-ended; bad != nil && err == nil {
			err = bad
			stop() // what is wrong with one is said now, not when the others have ended
		}
	}
	return err
}

// Tools are those of the server's node, and whether an agent may call them.
func (w *Away) Tools(ctx context.Context, agent string) ([]ToolUse, error) {
	all, _, err := get[struct {
		Tools []ToolUse `json:"tools"`
	}](ctx, w, "/v1/tools?agent="+url.QueryEscape(agent))
	return all.Tools, err
}

// Verified is what a server found out about a memory: rows for people, and whether all is well.
type Verified struct {
	view.Sent
	OK   bool
	Rows []view.PageRow
}

// Verify has the server verify every link, hash and signature of a memory.
func (w *Away) Verify(ctx context.Context, arg string) (*Verified, error) {
	v, sent, err := post[client.Verified](ctx, w, "/v1/agents/"+url.PathEscape(arg)+"/verify", nil)
	if err == nil {
		sent.JSON, err = sent.JSON.Without("rows") // they are for people
	}
	return &Verified{sent, v.OK, rowsFrom(v.Rows)}, err
}

// Nodes are those that the server's home knows of.
func (w *Away) Nodes(ctx context.Context, agent string) (*Nodes, error) {
	all, _, err := get[struct {
		Known []sentAs[struct{}] `json:"known"`
		Table [][]string         `json:"table"`
	}](ctx, w, "/v1/nodes?known=true&agent="+url.QueryEscape(agent))
	if err == nil && len(all.Known) == 0 {
		err = errors.New("the server is older, and tells others only of its own node")
	}
	out := &Nodes{Table: even(all.Table)}
	for _, n := range all.Known {
		out.Known = append(out.Known, KnownNode{Sent: n.sent})
	}
	return out, err
}

// even is a table of a server whose rows have all the cells that its head has, and no more.
func even(table [][]string) [][]string {
	for i := range table {
		row := make([]string, len(table[0]))
		copy(row, table[i])
		table[i] = row
	}
	return table
}

// Explain has the server say what policy there says, or said, of an action.
func (w *Away) Explain(ctx context.Context, arg string, q WhyQuestion) (*Explained, error) {
	if len(q.Policies) > 0 {
		return nil, perdure.Invalid(errors.New("a server goes by its own policies; leave --policy out"))
	}
	why := client.Why{Decision: q.Decision, Tool: q.Tool, Args: jsonOf(q.Args), Approvals: q.Approvals, Admit: q.Admit,
		Trusted: q.Trusted, Set: q.Set}
	if q.Effect != 0 {
		why.Effect = q.Effect.String()
	}
	e, sent, err := post[client.Explained](ctx, w, agentURL(arg, "/explain", nil), why)
	if err == nil {
		sent.JSON, err = sent.JSON.Without("rows") // they are for people
	}
	return &Explained{Sent: sent, page: explainedRows(e.Rows)}, err
}

// explainedRows are lines and rules of a server: rows of one cell, and of four.
func explainedRows(rows [][]string) [][]string {
	out := [][]string{}
	for _, row := range rows {
		if len(row) > 1 {
			row = even([][]string{make([]string, 4), row})[1]
		}
		if len(row) > 0 {
			out = append(out, row)
		}
	}
	return out
}

// Export writes an agent as a capsule, and no byte of what is none: what arrives is validated deeply on its way.
func (w *Away) Export(ctx context.Context, to io.Writer, agent, form, depth string) (n int64, err error) {
	from, into := io.Pipe()
	checked := make(chan error, 1)
	go func() {
		err := validate(from)
		_ = from.CloseWithError(err) // it never fails; who writes is told
		checked <- err
	}()
	n, err = w.Client.Export(ctx, io.MultiWriter(into, to), agent, form, depth)
	_ = into.CloseWithError(err) // it never fails
	if bad := <-checked; err == nil || bad != nil && errors.Is(err, bad) {
		err = bad
	}
	return n, err
}

// validate reads a capsule to its end.
func validate(r io.Reader) error {
	c, err := capsule.NewReader(r, capsule.ReadOptions{})
	if err != nil {
		return err
	}
	for _, err := range c.Entries() {
		if err != nil {
			return err
		}
	}
	_, err = io.Copy(io.Discard, r) // nothing is left of a capsule that was good
	return err
}

// ExportFile writes an agent as a capsule to a file, which is new unless it is to be replaced; without a name it is
// called after the agent. See client.Client.Export for form and depth.
func (w *Away) ExportFile(ctx context.Context, file, agent, form, depth string, replace bool) (name string, n int64,
	err error) {
	if file == "" {
		a, _, err := w.Client.Show(ctx, agent, "")
		if err != nil {
			return "", 0, err
		}
		file = capsule.FileName(a.Name, a.Agent)
	}
	if err := folderFor(file); err != nil {
		return "", 0, err
	}
	if info, err := os.Stat(file); err == nil && (!replace || !info.Mode().IsRegular()) {
		return "", 0, perdure.WithHint(fmt.Errorf("%s is there already", file),
			"name another file; perdure export --force replaces it")
	}
	err = disk.WriteWhole(file, func(to io.Writer) (err error) {
		n, err = w.Export(ctx, to, agent, form, depth)
		return err
	})
	return file, n, err
}
