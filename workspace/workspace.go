package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/keeper"
	"github.com/perdure/perdure/seal"
)

// Workspace is the documents of one store. Store, Node and Index must be set, and nothing may be changed after the
// first use. It is safe for several goroutines.
type Workspace struct {
	Store perdure.Store
	Node  *perdure.Node // signs what is written, and says which memories count
	Index *Index
	Vault seal.Vault // opens and makes sealed parts; nil: they stay sealed, and none are made

	// Allow is what policy answers to a role that wants to read or write; nil denies everything to roles. The owner is
	// not asked.
	Allow func(role *perdure.Agent, a Access) perdure.Verdict
	// Resolve is the agent that a name or the beginning of an id means, among those that are shown; nil shows all.
	// Without it, no search is of one agent.
	Resolve func(ctx context.Context, arg string, shows func(perdure.AgentID) bool) (perdure.AgentID, error)
	// Holds finds out whether a check still holds; nil: nothing is checked.
	Holds Holder
	// Embed adds search by meaning; nil: words alone.
	Embed Embedder
	// Scope is where roles belong that are made here, and what the owner reads and writes; empty: DefaultScope, and the
	// owner reads what others have, too. A role that belongs elsewhere is refused.
	Scope string
	// Looks makes no role: one that has no memory here is not found.
	Looks bool
	// Alive tells which sessions have a process; nil: none has.
	Alive Living

	turn   sync.Mutex // of those who write, see inTurn
	mu     sync.Mutex
	known  map[perdure.AgentID]standing
	births map[perdure.AgentID]birth
	deaf   time.Time // when the embeddings server last kept a search waiting
}

// DefaultScope is where roles belong if nobody says.
const DefaultScope = "home"

// DefaultRole is whose memory sessions, folders and clients have that name no role.
const DefaultRole = "assistant"

// Access is what policy is asked about.
type Access struct {
	Write bool
	Path  string
	Kind  string
	Tier  Tier
	Scope string // of the memory that holds it

	// Unnamed says that the name of the agent does not count: it is that of a role, which the agent is not.
	Unnamed bool
}

// Reader reads and writes on behalf of somebody: a role, or the owner of the home, who sees all.
type Reader struct {
	*Workspace
	role  string
	agent perdure.AgentID // of the role; zero: the owner
	scope string
	only  string   // of the owner: the one scope that was named, of which all is; empty: every scope
	line  []string // the scopes that it and those it descends from began in, see lineOf
	by    string   // who speaks, for what is written
	key   string   // of a call that may be made again

	unborn  *unborn        // the role, which begins with the first thing it writes; nil: it has begun
	unnamed bool           // it has the name of a role that it is not
	loaded  *perdure.Agent // the role's, while one call goes on; nil: it is loaded each time
	still   *still         // what is there, while many things are prepared; nil: it is looked at each time
}

// Owner reads and writes as the owner of the home: in every scope or, if the workspace names one, in that alone.
func (w *Workspace) Owner() *Reader {
	return &Reader{Workspace: w, by: w.Node.Key.Name, scope: cmp.Or(w.Scope, DefaultScope), only: w.Scope}
}

// As reads and writes as a role: the agent that this key made for it, asleep for life, else the one that came from
// another home and was admitted here, else one that begins with the first thing it writes, unless it only looks. No
// other agent of that name is taken for it: whoever may create agents would read what the role writes.
func (w *Workspace) As(ctx context.Context, role string) (*Reader, error) {
	if err := CheckRole(role); err != nil {
		return nil, err
	}
	a, u, err := w.roleAgent(ctx, role)
	if err != nil {
		return nil, fmt.Errorf("role %s: %w", role, err)
	}
	if is := a.Fold().Charter.Scope; w.Scope != "" && is != w.Scope {
		return nil, otherScope(role, a, w.Scope)
	}
	if u != nil {
		return &Reader{Workspace: w, role: role, agent: a.ID(), scope: a.Fold().Charter.Scope,
			line: []string{a.Fold().Charter.Scope}, by: role + " for " + w.Node.Key.Name, unborn: u}, nil
	}
	return w.For(ctx, a)
}

// otherScope refuses to use a role, which belongs to a scope, for another one.
func otherScope(role string, a *perdure.Agent, wanted string) error {
	return perdure.WithHint(perdure.Invalid(fmt.Errorf("role %s belongs to scope %s, not to %s", role,
		a.Fold().Charter.Scope, wanted)), "leave the scope out, or name another role")
}

// For reads and writes as an agent, which must count here. What is for a scope that it, or an agent it descends from,
// did not begin in is not for it: narrowing a scope, and delegating into a narrower one, let nobody read more. Neither
// does the name of a role: whoever may start an agent, or delegate to one, gives it any name.
func (w *Workspace) For(ctx context.Context, a *perdure.Agent) (*Reader, error) {
	line, err := w.lineOf(ctx, a.ID())
	if err != nil {
		return nil, err
	}
	f := a.Fold()
	role := f.Intent.Name
	if CheckRole(role) != nil {
		role = a.ID().Short()
	}
	unnamed := false
	if f.Intent.Kind != roleKind {
		if unnamed, err = w.isRole(ctx, role); err != nil {
			return nil, err
		}
	}
	return &Reader{Workspace: w, role: role, agent: a.ID(), scope: f.Charter.Scope, line: line, unnamed: unnamed,
		by: role + " for " + w.Node.Key.Name}, nil
}

// SpokenBy is the reader for what somebody else says in its name: a client, a model.
func (r *Reader) SpokenBy(by string) *Reader {
	c := *r
	c.by = by
	return &c
}

// Role is the name of the role; empty: the owner.
func (r *Reader) Role() string { return r.role }

// Scope is the scope of the role, or that of what the owner writes.
func (r *Reader) Scope() string { return r.scope }

// Agent is the agent of the role; zero: the owner.
func (r *Reader) Agent() perdure.AgentID { return r.agent }

// shelf is the memory of an agent, as a place for documents.
type shelf struct {
	row   int64
	agent perdure.AgentID
	role  string  // of private notes
	moved int64   // when something was last taken in of it
	mine  bool    // the key of this home owns it
	twins []int64 // the rows of all memories of the same place; nil: there is no other
	Visibility

	unborn *unborn // it begins with its first document; nil: it has begun
}

// standing is what of an agent says who may see what it holds, as its memory says, not the index.
type standing struct {
	moved  int64
	trust  *perdure.Trust
	counts bool  // here, now
	held   error // why it does not count, though it keeps documents and somebody trusted to own them began it
	mine   bool  // the key of this home owns it
	kind   string
	scope  string
	tier   string
}

// maxStandings bounds how many are kept.
const maxStandings = 16 << 10

// stands is how an agent stands. Loading it costs something, so it is done again only when its memory has grown, or
// whom to trust has changed.
func (w *Workspace) stands(ctx context.Context, id perdure.AgentID, moved int64) (standing, error) {
	trust := w.Node.Trusted()
	w.mu.Lock()
	now, ok := w.known[id]
	w.mu.Unlock()
	if ok && moved > 0 && now.moved == moved && now.trust == trust {
		return now, nil
	}
	now = standing{moved: moved, trust: trust}
	a, err := w.Node.Load(ctx, id)
	switch {
	case errors.Is(err, perdure.ErrRejected):
		if is, unread := Ours(ctx, w.Store, w.Node.Witness, trust, id); unread != nil {
			return now, unread
		} else if is {
			now.held = err
		}
	case errors.Is(err, perdure.ErrNotFound):
	case err != nil:
		return now, err
	default:
		f := a.Fold()
		now.mine = f.Charter.Owner == w.Node.Key.Key()
		now.counts, now.kind, now.scope, now.tier = true, f.Intent.Kind, f.Charter.Scope, f.Intent.Labels[tierLabel]
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil || len(w.known) >= maxStandings {
		w.known = map[perdure.AgentID]standing{}
	}
	w.known[id] = now
	return now, nil
}

// Ours reports whether an agent keeps documents that were documents of this home: a key that is trusted to own it began
// it, and it has counted here before, as the witness knows. What arrived and was never admitted is not missed.
func Ours(ctx context.Context, s perdure.Store, w perdure.Witness, t *perdure.Trust, id perdure.AgentID) (bool,
	error) {
	if w == nil {
		return false, nil
	}
	if seen, err := w.Seen(ctx, id); err != nil || len(seen.Heads) == 0 {
		return false, err
	}
	for item, err := range s.Entries(ctx, id, 0) {
		if err != nil {
			return false, err
		}
		g, _ := item.Content().(perdure.Genesis)
		return Keeps(g.Intent.Kind) && t.Allows(item.Origin, perdure.MayOwn, g.Charter.Scope), nil
	}
	return false, nil
}

// heldBack says that documents of the home are held. To go on without them would look as if they had been removed:
// folders would drop their files.
func (s *shelf) heldBack(why error) error {
	what := "the " + string(s.Tier) + " documents of " + s.Scope
	if s.Tier == Private {
		what = "the private notes of " + s.role
	}
	err := fmt.Errorf("%s are held, and memory with them: %w", what, why)
	return perdure.WithHint(err, "to keep what is there, and take nothing from that key from now on: perdure resume "+
		s.agent.Short())
}

// shelves are the memories whose documents the reader may see at all, as far as they count here. The narrowest come
// first.
func (r *Reader) shelves(ctx context.Context) ([]shelf, error) {
	if r.still == nil {
		return r.seen(ctx)
	}
	if r.still.shelves == nil {
		all, err := r.seen(ctx)
		if err != nil {
			return nil, err
		}
		r.still.shelves = all
	}
	return slices.Clone(r.still.shelves), nil
}

// seen is shelves, looked at.
func (r *Reader) seen(ctx context.Context) ([]shelf, error) {
	all, err := r.Index.shelves(ctx)
	if err != nil {
		return nil, err
	}
	var seen []shelf
	for _, s := range all {
		if !r.sees(&s) {
			continue
		}
		now, err := r.stands(ctx, s.agent, s.moved)
		if err != nil {
			return nil, err
		}
		if now.held != nil {
			return nil, s.heldBack(now.held)
		}
		if !now.counts || s.Tier != Private && (now.kind != keeper.Workspace || now.tier != string(s.Tier)) {
			continue // it does not count here; or the index, or somebody since, says otherwise than its first entry
		}
		s.mine = now.mine
		if s.Scope = now.scope; !r.sees(&s) { // it may have become narrower
			continue
		}
		seen = append(seen, s)
	}
	slices.SortStableFunc(seen, func(a, b shelf) int {
		return cmp.Or(cmp.Compare(a.Tier.rank(), b.Tier.rank()), cmp.Compare(len(b.Scope), len(a.Scope)),
			cmp.Compare(b2i(b.agent == r.agent), b2i(a.agent == r.agent)))
	})
	return paired(seen), nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sees reports whether a memory is one whose documents the reader may see, whatever policy says.
func (r *Reader) sees(s *shelf) bool {
	if r.agent.IsZero() {
		return r.only == "" || s.Scope == r.only
	}
	switch s.Tier {
	case Private:
		return s.agent == r.agent
	case Team, Custom:
		return r.in(s.Scope)
	case Public:
		return true
	}
	return false
}

// shelfFor is the memory that new documents of a visibility go to, which may not have begun yet.
func (r *Reader) shelfFor(ctx context.Context, v Visibility) (shelf, error) {
	if v.Tier == Private {
		if r.agent.IsZero() {
			return shelf{}, perdure.WithHint(perdure.Invalid(errors.New("private notes belong to a role")),
				"name it with --role, or write to team or public")
		}
		return shelf{agent: r.agent, role: r.role, Visibility: Visibility{Private, r.scope}, unborn: r.unborn}, nil
	}
	if v.Scope == "" {
		v.Scope = r.scope
	} else if err := CheckScope(v.Scope); err != nil {
		return shelf{}, err
	}
	if !r.agent.IsZero() && v.Tier != Public && !r.in(v.Scope) {
		err := fmt.Errorf("%w: %s is in scope %s and writes nothing for %s", perdure.ErrDenied, r.role, r.scope,
			v.Scope)
		if perdure.InScope(r.scope, v.Scope) { // those it descends from are not
			began := slices.MinFunc(r.line, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
			err = perdure.WithHint(fmt.Errorf("%w: %s began in scope %s, and reads and writes nothing for %s",
				perdure.ErrDenied, r.role, began, v.Scope),
				"write it for custom:"+began+", or keep it in private notes")
		}
		return shelf{}, err
	}
	g := perdure.Genesis{
		Intent: perdure.Intent{Name: "workspace-" + string(v.Tier), Kind: keeper.Workspace, Goal: "keeps the " +
			string(v.Tier) + " documents of " + v.Scope,
			Labels: map[string]string{tierLabel: string(v.Tier)}},
		Charter: perdure.Charter{Scope: v.Scope},
	}
	a, u, err := r.expect(ctx, g)
	if err != nil {
		return shelf{}, err
	}
	return shelf{agent: a.ID(), Visibility: v, unborn: u}, nil
}

// once is the reader with its role loaded, for a call that asks policy often.
func (r *Reader) once(ctx context.Context) (*Reader, error) {
	if r.agent.IsZero() || r.loaded != nil {
		return r, nil
	}
	c := *r
	var err error
	c.loaded, err = r.self(ctx)
	return &c, err
}

// may asks policy whether the reader may read or write a document.
func (r *Reader) may(ctx context.Context, s *shelf, path, kind string, write bool) error {
	if r.agent.IsZero() {
		return nil
	}
	if r.Allow == nil {
		return fmt.Errorf("%w: no policy says what roles may read and write", perdure.ErrDenied)
	}
	a, err := r.self(ctx)
	if err != nil {
		return err
	}
	x := Access{Write: write, Path: path, Kind: kind, Tier: s.Tier, Scope: s.Scope}
	v := r.Allow(a, x)
	if r.unnamed && v.Answer == perdure.Allow {
		x.Unnamed = true
		v = r.Allow(a, x)
	}
	verb := "read"
	if write {
		verb = "write"
	}
	switch v.Answer {
	case perdure.Allow:
		return nil
	case perdure.Ask:
		err := fmt.Errorf("%w: policy asks a person before %s may %s %s (%s)", perdure.ErrDenied, r.role, verb, path,
			v.Reason)
		return perdure.WithHint(err, "a person does it: perdure doc "+verb+" "+path)
	}
	why, hint := cmp.Or(v.Reason, "no rule permits it"), `permit it by a rule about Action::"document.`+verb+
		`" in the policies of this home; see perdure help policy`
	if len(v.Rules) > 0 && v.Reason == "" {
		why, hint = "forbidden by "+strings.Join(v.Rules, ", "), "whoever the rule lets do it may, or change the rule "+
			"in the policies of this home; see perdure help policy"
	}
	return perdure.WithHint(fmt.Errorf("%w: policy does not let %s %s %s: %s", perdure.ErrDenied, r.role, verb, path,
		why), hint)
}

// sync brings the index up to date.
func (r *Reader) sync(ctx context.Context) error {
	if r.still != nil && r.still.synced {
		return nil
	}
	return r.follow(ctx)
}

// follow brings the index up to date, also while many things are prepared.
func (r *Reader) follow(ctx context.Context) error {
	err := r.Index.Follow(ctx, r.Store, nil)
	if r.still != nil {
		r.still.synced, r.still.shelves = err == nil, nil
	}
	return err
}

// still is what a reader has found while it prepares many things that are written at once. What others write meanwhile
// it finds out then: the heads it has seen are no longer the heads.
type still struct {
	synced  bool
	shelves []shelf
	heads   map[perdure.AgentID][]perdure.Hash
}

// standing is the reader while it prepares many things. The role is loaded once.
func (r *Reader) standing(ctx context.Context) (*Reader, error) {
	c, err := r.once(ctx)
	if err != nil {
		return nil, err
	}
	s := *c
	s.still = &still{heads: map[perdure.AgentID][]perdure.Hash{}}
	return &s, nil
}

// Keeps reports whether agents of a kind are there for documents alone.
func Keeps(kind string) bool { return keeper.Is(kind) }

// KeepsPrivate reports whether agents of a kind keep the private notes of a role.
func KeepsPrivate(kind string) bool { return kind == roleKind }

// Hides reports whether an agent is one the reader knows nothing of: another role, a workspace whose documents it does
// not see, or one whose scope it is not in, as search finds nothing of its transcript. Faces that show agents to a role
// leave these out.
func (r *Reader) Hides(a *perdure.Agent) bool {
	f := a.Fold()
	switch {
	case r.agent.IsZero() || a.ID() == r.agent:
		return false
	case f.Intent.Kind == roleKind:
		return true
	case f.Intent.Kind == keeper.Workspace:
		return !r.sees(&shelf{agent: a.ID(), Visibility: Visibility{Tier(f.Intent.Labels[tierLabel]), f.Charter.Scope}})
	}
	return !r.in(f.Charter.Scope)
}

// HidesListed is Hides by what an index says: true is for certain, false is to be asked of the agent.
func (r *Reader) HidesListed(l perdure.Listing) bool {
	return !r.agent.IsZero() && l.Agent != r.agent && (l.Kind == roleKind ||
		!Keeps(l.Kind) && !r.in(l.Scope))
}

// ScopeFor is where an agent belongs that the reader starts: in its own scope. One in another, or below, would read
// documents for it that it does not see itself.
func (r *Reader) ScopeFor(scope string) (string, error) {
	switch {
	case scope == "":
		return r.scope, nil
	case r.agent.IsZero() || scope == r.scope:
		return scope, nil
	}
	return "", perdure.WithHint(fmt.Errorf("%w: %s is in scope %s and starts no agents in %s", perdure.ErrDenied,
		r.role, r.scope, clip(scope, maxTitle)), "leave the scope out; a person starts agents in others, with "+
		"perdure new --scope")
}
