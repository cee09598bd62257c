package workspace

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

const (
	// MaxState is how much of a current state models are shown.
	MaxState = 16 << 10
	// usualState is how many lines a current state has at most, if it is kept in order.
	usualState = 100
	// maxChanged bounds how much of what changed an opening lists.
	maxChanged = 50
	// idleSession is how long nothing is heard of an open session without a process before it counts as one that never
	// closed.
	idleSession = 6 * time.Hour

	openTag, recoveredTag = "open", "recovered"
)

// Opening is what a role finds when a session begins.
type Opening struct {
	Role    string       `json:"role"`
	Session string       `json:"session"` // its path, to be closed by
	Opened  perdure.Time `json:"opened"`

	State        string       `json:"state"` // the current state, as far as models are shown it
	StatePath    string       `json:"state_path"`
	StateVersion perdure.Hash `json:"state_version,omitzero"`
	StateLines   int          `json:"state_lines"`
	StateCut     bool         `json:"state_cut,omitempty"` // there is more of it

	Last      *Document   `json:"last,omitempty"`      // the summary of the session before
	Changed   []*Document `json:"changed,omitempty"`   // documents written since, newest first
	More      bool        `json:"more,omitempty"`      // and more than are listed
	Conflicts []*Document `json:"conflicts,omitempty"` // documents with several current versions
	Stale     []*Document `json:"stale,omitempty"`     // whose checks do not hold
	Recovered []*Document `json:"recovered,omitempty"` // summaries of sessions that never closed
	Memories  int         `json:"memories"`            // verified: those with documents that the role sees
	Notes     []string    `json:"notes,omitempty"`
}

// StatePath is where the current state of a role is.
func StatePath(role string) string { return PrivatePath(role, stateName) }

// Open begins a session of a role: what it sees is verified, its current state is shown, and what changed since the
// session before. A session that never closed gets a summary, from what its memory says of it; so do those that ended
// processes left of other roles. The session is over when this process is.
func (r *Reader) Open(ctx context.Context) (*Opening, error) { return r.OpenFor(ctx, false) }

// OpenFor is Open; a lasting session outlives this process.
func (r *Reader) OpenFor(ctx context.Context, lasting bool) (*Opening, error) {
	if r.agent.IsZero() {
		return nil, perdure.WithHint(perdure.Invalid(errors.New("a session is one of a role")), "name it with --role")
	}
	if err := r.sync(ctx); err != nil {
		return nil, err
	}
	shelves, err := r.shelves(ctx)
	if err != nil {
		return nil, err
	}
	o := &Opening{Role: r.role, StatePath: StatePath(r.role), Memories: len(shelves)}
	if o.Notes, err = r.namesakes(ctx); err != nil {
		return nil, err
	}
	if _, err := r.self(ctx); err != nil { // it says why the role's own memory does not count
		return nil, fmt.Errorf("open a session of %s: %w", r.role, err)
	}
	if err := r.lookBack(ctx, o, shelves); err != nil {
		return nil, err
	}
	if err := r.showState(ctx, o); err != nil {
		return nil, err
	}
	if o.Stale, err = r.stale(ctx, shelves, o); err != nil {
		return nil, err
	}
	others := func(id perdure.AgentID) bool { return id != r.agent }
	if _, err := r.recoverAll(ctx, others, true); err != nil {
		o.Notes = append(o.Notes, fmt.Sprintf("a session of another role was not recovered: %v", err))
	}
	return o, r.begin(ctx, o, lasting)
}

func (r *Reader) ownShelf(shelves []shelf) *shelf {
	i := slices.IndexFunc(shelves, func(s shelf) bool { return s.agent == r.agent })
	if i < 0 {
		return nil
	}
	return &shelves[i]
}

const (
	// lastSession selects the last summary; the kind stands in it as in the index of sessions.
	lastSession = "v.kind='" + KindSession + "' AND v.tags<>? ORDER BY v.id DESC LIMIT 1"
	// lastSessions selects the last of them, open ones, too.
	lastSessions = "v.kind='" + KindSession + "' AND v.gone=0 ORDER BY v.id DESC LIMIT ?"
	// changedSince selects what was written last.
	changedSince = "v.id>? AND v.gone=0 AND v.kind<>? AND v.path<>? ORDER BY v.id DESC LIMIT ?"
)

// lookBack says what happened since the session before.
func (r *Reader) lookBack(ctx context.Context, o *Opening, shelves []shelf) error {
	var mark int64
	if own := r.ownShelf(shelves); own != nil {
		recovered, on, err := r.recover(ctx, own, shelves, false)
		if err != nil {
			return err
		}
		if len(on) > 0 {
			o.Notes = append(o.Notes, fmt.Sprintf("open beside this one: %s; each is closed by itself, and one of "+
				"which nothing is heard for %d hours gets a summary at the next open", strings.Join(on, ", "),
				int(idleSession.Hours())))
		}
		if o.Recovered = recovered; len(recovered) > 0 {
			if err := r.sync(ctx); err != nil {
				return err
			}
		}
		last, err := r.Index.current(ctx, []shelf{*own}, lastSession, openTag)
		if err != nil {
			return err
		}
		if len(last) > 0 {
			if o.Last, err = r.full(ctx, last[0]); err != nil && !errors.Is(err, perdure.ErrNotFound) {
				return err
			}
			mark = last[0].id
		}
	}
	changed, err := r.Index.currentNumbered(ctx, shelves, changedSince, mark, KindSession, o.StatePath, maxChanged+1)
	if err != nil {
		return err
	}
	if o.Changed, err = r.gather(ctx, nil, unexpired(changed), "", maxChanged); err != nil {
		return err
	}
	o.More = len(changed) > maxChanged
	o.Conflicts, err = r.conflicts(ctx, shelves)
	return err
}

// conflicts are the documents that have several current versions.
func (r *Reader) conflicts(ctx context.Context, shelves []shelf) ([]*Document, error) {
	found, err := r.Index.current(ctx, shelves, isBeside(shelves)+" ORDER BY v.path, v.seq DESC LIMIT ?", 4*maxChanged)
	if err != nil {
		return nil, err
	}
	docs, err := r.gather(ctx, nil, unexpired(found), "", 2*maxChanged)
	docs = slices.DeleteFunc(docs, func(d *Document) bool { return len(d.Beside) == 0 })
	return docs[:min(len(docs), maxChanged)], err
}

// showState adds the current state.
func (r *Reader) showState(ctx context.Context, o *Opening) error {
	d, err := r.Read(ctx, o.StatePath, nil)
	if errors.Is(err, perdure.ErrNotFound) {
		o.Notes = append(o.Notes, "there is no current state yet: the close of this session writes the first")
		return nil
	}
	if err != nil {
		return err
	}
	o.State, o.StateVersion, o.StateLines = shownState(d.Text), d.Version, lines(d.Text)
	o.StateCut = len(o.State) < len(d.Text)
	if len(d.Beside) > 0 {
		o.Notes = append(o.Notes, fmt.Sprintf("the current state has %d versions: bring them together when you close",
			1+len(d.Beside)))
	}
	if o.StateLines > usualState {
		o.Notes = append(o.Notes, tooLong(o.StateLines))
	}
	return nil
}

// shownState is what of a current state models are shown.
func shownState(text string) string {
	if len(text) <= MaxState {
		return text
	}
	return clip(text, MaxState-len("…"))
}

func tooLong(n int) string {
	return fmt.Sprintf("the current state has %d lines, and %d are enough: move what is settled into documents and "+
		"link to them", n, usualState)
}

func lines(text string) int { return strings.Count(strings.TrimRight(text, "\n"), "\n") + 1 }

// CurrentState is the current state of an agent, as models are shown it; empty: it has none.
func (w *Workspace) CurrentState(ctx context.Context, a *perdure.Agent) (string, error) {
	r, err := w.For(ctx, a)
	if err != nil {
		return "", err
	}
	d, err := r.Read(ctx, StatePath(r.role), nil)
	if errors.Is(err, perdure.ErrNotFound) || errors.Is(err, perdure.ErrDenied) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return shownState(d.Text), nil
}

// begin records that a session began. Its first version names the current state it began with as its source.
func (r *Reader) begin(ctx context.Context, o *Opening, lasting bool) error {
	now := time.Now().UTC()
	path := PrivatePath(r.role, fmt.Sprintf("%s/%s-%04x.md", sessionsDir, now.Format("2006-01-02-150405"),
		rand.IntN(1<<16)))
	d := Draft{Path: path, Kind: KindSession, Title: "Session of " + now.Format("2006-01-02 15:04"),
		Text: "This session is open.\n", Tags: []string{openTag}, New: true}
	if !o.StateVersion.IsZero() {
		d.from = &perdure.Source{Agent: r.agent, Entry: o.StateVersion}
	}
	if r.Alive != nil && !lasting {
		if err := r.Alive.Hold(aliveName(path)); err != nil {
			return fmt.Errorf("open a session of %s: %w", r.role, err)
		}
	}
	written, err := r.Write(ctx, d)
	if err != nil {
		return err
	}
	o.Session, o.Opened = path, written.Time
	return nil
}

// aliveName is the name by which the process of a session is known.
func aliveName(path string) []byte {
	h := perdure.HashOf([]byte(path))
	return h[:16]
}

// Closing is what a session leaves behind.
type Closing struct {
	Session   string   // the path that Open gave; empty: the last one open
	Title     string   // one line, by which it is found
	Happened  string   // what happened
	Decisions []string // what was decided, and why
	Threads   []string // what is open
	State     string   // the current state from now on; empty: it stays, but for a section about this session
	// StateBase is the version of the current state the new one rests on; zero: the one the session began with.
	StateBase perdure.Hash
}

// Closed is what came of it.
type Closed struct {
	Summary *Document `json:"summary"`
	State   *Document `json:"state"`
	Notes   []string  `json:"notes,omitempty"`
}

// Close ends a session: the current state is brought up to date, and one document says what happened. That comes last:
// the session is open until both are there, and a close that was cut off or refused in between is completed by the
// same one. Closing again replaces the summary.
func (r *Reader) Close(ctx context.Context, c Closing) (*Closed, error) {
	if r.agent.IsZero() {
		return nil, perdure.WithHint(perdure.Invalid(errors.New("a session is one of a role")), "name it with --role")
	}
	if strings.TrimSpace(c.Title) == "" || strings.TrimSpace(c.Happened) == "" {
		return nil, perdure.Invalid(errors.New("a session is closed with a title, by which it is found, and with " +
			"what happened"))
	}
	session, err := r.sessionOf(ctx, c.Session)
	if err != nil {
		return nil, err
	}
	state, err := r.Read(ctx, StatePath(r.role), nil)
	if err != nil && !errors.Is(err, perdure.ErrNotFound) {
		return nil, err
	}
	if err := c.checkState(session, state); err != nil {
		return nil, err
	}
	out := &Closed{State: state}
	next := Draft{Path: StatePath(r.role), Kind: KindState, Title: "Current state of " + r.role, Text: c.State}
	if state != nil {
		next.Base = append([]perdure.Hash{state.Version}, state.Beside...)
	}
	if strings.TrimSpace(c.State) == "" {
		next.Text = c.carried(state, session.Path)
	}
	if state == nil || len(state.Beside) > 0 || state.Text != next.Text {
		if out.State, err = r.Write(ctx, next); err != nil {
			return nil, err
		}
	}
	out.Summary, err = r.Write(ctx, Draft{Path: session.Path, Kind: KindSession, Title: c.Title, Text: c.text(),
		Tags: []string{"closed"},
		Base: append([]perdure.Hash{session.Version}, session.Beside...)})
	if err != nil {
		return nil, err
	}
	if n := lines(next.Text); n > usualState {
		out.Notes = append(out.Notes, tooLong(n))
	}
	if len(next.Text) > MaxState {
		out.Notes = append(out.Notes, fmt.Sprintf("the current state has %d bytes: models are shown the first %d",
			len(next.Text), MaxState))
	}
	return out, nil
}

// checkState refuses a new current state that would take back what others wrote since the session began.
func (c *Closing) checkState(session, state *Document) error {
	if strings.TrimSpace(c.State) == "" || state == nil {
		return nil
	}
	base := c.StateBase
	if base.IsZero() && session.From != nil {
		base = session.From.Entry
	}
	if base == state.Version || state.Text == c.State { // or a close that was cut off wrote it
		return nil
	}
	err := &Conflict{Path: state.Path, Current: append([]perdure.Hash{state.Version}, state.Beside...)}
	return perdure.WithHint(err, "another session wrote it since this one began: read "+state.Path+", bring both "+
		"together, and close with its version as the state's base")
}

// sessionOf is an open session of the role.
func (r *Reader) sessionOf(ctx context.Context, path string) (*Document, error) {
	if path != "" {
		d, err := r.Read(ctx, path, nil)
		if err == nil && (d.Kind != KindSession || d.Agent != r.agent) {
			err = perdure.Invalid(fmt.Errorf("%s is not a session of %s", path, r.role))
		}
		return d, err
	}
	if err := r.sync(ctx); err != nil {
		return nil, err
	}
	shelves, err := r.shelves(ctx)
	if err != nil {
		return nil, err
	}
	own := r.ownShelf(shelves)
	if own != nil {
		open, err := r.Index.current(ctx, []shelf{*own}, "v.tags='open' AND v.kind=? ORDER BY v.id "+
			"DESC LIMIT 1", KindSession)
		if err != nil {
			return nil, err
		}
		if len(open) > 0 {
			return r.full(ctx, open[0])
		}
	}
	return nil, perdure.WithHint(perdure.Missing("no session of "+r.role+" is open"),
		"open one: perdure session open --role "+r.role)
}

// text is the summary.
func (c *Closing) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n", strings.TrimSpace(c.Title), strings.TrimSpace(c.Happened))
	writeList(&b, "Decisions", c.Decisions)
	writeList(&b, "Open threads", c.Threads)
	return b.String()
}

func writeList(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", title)
	for _, one := range items {
		fmt.Fprintf(b, "- %s\n", strings.ReplaceAll(strings.TrimSpace(one), "\n", "\n  "))
	}
}

// lastSection is the section of a current state that says what the last session left.
const lastSection = "## Last session"

// carried is the current state with what the session left in its last section, and what earlier ones left open: nobody
// has said that it is done.
func (c *Closing) carried(state *Document, path string) string {
	text, last := "", ""
	if state != nil {
		text = state.Text
	}
	if i := strings.Index(text, lastSection); i >= 0 {
		rest := ""
		last = text[i+len(lastSection):]
		if j := strings.Index(last, "\n## "); j >= 0 {
			last, rest = last[:j+1], last[j+1:]
		}
		text = text[:i] + rest
	}
	var b strings.Builder
	if text = strings.TrimRight(text, "\n"); text != "" {
		b.WriteString(text + "\n\n")
	}
	fmt.Fprintf(&b, "%s\n\n[[%s]] %s\n", lastSection, path, strings.TrimSpace(c.Title))
	left := map[string]bool{}
	for _, one := range c.Threads {
		one = strings.Join(strings.Fields(one), " ")
		left[one] = true
		fmt.Fprintf(&b, "%s%s\n", openThread, one)
	}
	for _, one := range earlierThreads(last, path) {
		if what, _, _ := strings.Cut(one, " ([["); !left[what] {
			fmt.Fprintf(&b, "%s%s\n", openThread, one)
		}
	}
	return b.String()
}

// openThread begins a line of the last section about what is open.
const openThread = "- open: "

// earlierThreads are what a last section says is open, each with the session that left it. What the session at path
// itself left is not among them: it is closed again, and says so anew.
func earlierThreads(last, path string) (threads []string) {
	by := ""
	for line := range strings.Lines(last) {
		line = strings.TrimSpace(line)
		if link, _, ok := strings.Cut(line, "]]"); ok && by == "" && strings.HasPrefix(line, "[[") {
			by = strings.TrimPrefix(link, "[[")
		}
		one, ok := strings.CutPrefix(line, strings.TrimSpace(openThread))
		if one = strings.TrimSpace(one); !ok || one == "" {
			continue
		}
		if !strings.HasSuffix(one, "]])") {
			if by == path {
				continue
			}
			if by != "" {
				one += " ([[" + by + "]])"
			}
		}
		threads = append(threads, one)
	}
	return threads
}

// Open reports whether a document is a session that has not been closed.
func (d *Document) Open() bool {
	return d.Kind == KindSession && d.Current && !d.Gone && slices.Contains(d.Tags, openTag)
}

// Recovered reports whether a document is the summary of a session that never closed.
func (d *Document) Recovered() bool {
	return d.Kind == KindSession && !d.Gone && slices.Contains(d.Tags, recoveredTag)
}

// Sessions are the sessions of the role, newest first, open ones among them; for the owner, those of every role.
func (r *Reader) Sessions(ctx context.Context, limit int) ([]*Document, error) {
	if err := r.sync(ctx); err != nil {
		return nil, err
	}
	shelves, err := r.shelves(ctx)
	if err != nil {
		return nil, err
	}
	found, err := r.Index.current(ctx, shelves, lastSessions, limit)
	if err != nil {
		return nil, err
	}
	return r.gather(ctx, nil, unexpired(found), "", limit)
}

// String is the opening as people and models read it.
func (o *Opening) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Session %s of %s is open.\n", o.Session, o.Role)
	for _, n := range o.Notes {
		fmt.Fprintf(&b, "Note: %s.\n", n)
	}
	if o.State != "" {
		fmt.Fprintf(&b, "\nCurrent state (%s, version %s):\n\n%s\n", o.StatePath, o.StateVersion,
			strings.TrimSpace(o.State))
		if o.StateCut {
			b.WriteString("… and more that does not fit here\n")
		}
	}
	if o.Last != nil {
		fmt.Fprintf(&b, "\nThe session before: %s (%s)\n", o.Last.Title, o.Last.Path)
	}
	lists := []struct {
		title string
		docs  []*Document
	}{
		{"Sessions that never closed, with a summary from memory", o.Recovered}, {"Changed since", o.Changed},
		{"Written twice at once; bring the versions together", o.Conflicts},
		{"Stale: their checks do not hold", o.Stale},
	}
	for _, l := range lists {
		if len(l.docs) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s:\n", l.title)
		for _, d := range l.docs {
			fmt.Fprintf(&b, "- %s: %s", d.Path, d.Title)
			if d.Stale != "" {
				fmt.Fprintf(&b, " (%s)", d.Stale)
			}
			b.WriteString("\n")
		}
	}
	if o.More {
		b.WriteString("- … and more\n")
	}
	return b.String()
}
