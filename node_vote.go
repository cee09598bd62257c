package perdure

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// A vote counts for the key that signed it. Somebody whose key is not with the node votes in three steps: the node
// prepares the entries (PrepareVote), whoever has the key looks at them and signs the last (SignVote), and the node
// stores them after checking them as it checks everything that arrives (TakeVote).

// PrepareVote is the commit by which a key answers a question, without its signature. It is refused if the answer would
// count for nothing, as Approve and Deny are. Nothing is stored.
func (n *Node) PrepareVote(ctx context.Context, id AgentID, by Key, name string, v Approval) ([]*Entry, error) {
	return n.PrepareVoteOf(ctx, id, by, name, "", v)
}

// PrepareVoteOf is PrepareVote for an answer that came in a message with an id, which is recorded with it: the message
// may come again, when the agent asks something else. See Voted.
func (n *Node) PrepareVoteOf(ctx context.Context, id AgentID, by Key, name, message string, v Approval) ([]*Entry,
	error) {
	if err := n.init(); err != nil {
		return nil, err
	}
	a, _, err := n.hearer(ctx, id)
	if err != nil {
		return nil, err
	}
	q, err := n.answerable(a, by, &v)
	if err != nil {
		return nil, err
	}
	v.Decision = q.Decision
	unsigned, err := NewSigner(name, absent(by))
	if err != nil {
		return nil, err
	}
	ev := Event{Name: "approval", By: name, ID: message, Notice: v}
	entries, _, err := unsigned.answer(a, time.Now(), Draft{Body: ev, Policy: n.PolicyHash, Trace: n.traceIn(ctx)})
	if err != nil {
		return nil, err
	}
	last := entries[len(entries)-1]
	last.Signature, last.verified = nil, 0
	return entries, nil
}

// absent is a key whose private part is elsewhere.
type absent Key

func (k absent) Public() crypto.PublicKey { return ed25519.PublicKey(k[:]) }

func (k absent) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return make([]byte, signatureSize), nil
}

// VoteOf is the answer that a commit records, if it records one by this key for this agent and nothing else. Whoever
// signs for somebody else's node looks at this first.
func VoteOf(entries []*Entry, id AgentID, by Key) (Approval, error) {
	for i, e := range entries {
		if e.Header.Agent != id || e.Origin != by {
			return Approval{}, fmt.Errorf("entry %s is not one of agent %s by this key", e.Name.Short(), id.Short())
		}
		if i > 0 && !slices.Contains(e.Parents, entries[i-1].Name) {
			return Approval{}, fmt.Errorf("entry %s does not follow the one before it", e.Name.Short())
		}
		ev, _ := e.content.(Event)
		if len(ev.Set) > 0 || ev.Data != nil { // whoever signs the last entry signs all of them
			break
		}
		if v, is := ev.Notice.(Approval); is && i == len(entries)-1 && rightFor(e) == MayApprove {
			return v, nil
		}
		if _, is := ev.Notice.(Joined); !is {
			break
		}
	}
	return Approval{}, errors.New("these entries are not one answer to a question, and nothing else")
}

// SignVote signs a prepared commit, if it is this answer and nothing else.
func (s *Signer) SignVote(entries []*Entry, id AgentID, want Approval) ([]*Entry, error) {
	got, err := VoteOf(entries, id, s.key)
	if err != nil {
		return nil, fmt.Errorf("sign the answer: %w", err)
	}
	if want.Decision.IsZero() {
		want.Decision = got.Decision
	}
	if got != want {
		return nil, errors.New("sign the answer: what was prepared is not what was asked for; nothing was signed")
	}
	signed := slices.Clone(entries)
	last := *entries[len(entries)-1]
	if err := s.seal(&last); err != nil {
		return nil, err
	}
	signed[len(signed)-1] = &last
	return signed, nil
}

// TakeVote durably adds a signed answer that somebody brings, and returns its entry. It is checked as everything is
// that arrives; the question must be open and the answer count. One that is here already changes nothing: again is
// true.
func (n *Node) TakeVote(ctx context.Context, id AgentID, entries []*Entry) (e *Entry, again bool, err error) {
	if err := n.init(); err != nil {
		return nil, false, err
	}
	if len(entries) == 0 {
		return nil, false, Invalid(errors.New("no entries were given"))
	}
	last := entries[len(entries)-1]
	v, err := VoteOf(entries, id, last.Origin)
	if err == nil && len(last.Signature) == 0 {
		err = errors.New("the answer is not signed")
	}
	if err != nil {
		return nil, false, Invalid(err)
	}
	if err := last.CheckSignature(); err != nil {
		return nil, false, err
	}
	a, _, err := n.hearer(ctx, id)
	if err != nil {
		return nil, false, err
	}
	q, err := n.answerable(a, last.Origin, &v)
	switch {
	case err != nil:
		if there := n.voted(ctx, a, last); there != nil {
			return there, true, nil
		}
		return nil, false, err
	case q.Decision != v.Decision:
		return nil, false, Invalid(fmt.Errorf("the answer is to decision %s, and %s asked", v.Decision.Short(),
			q.Decision.Short()))
	}
	told, err := a.Apply(entries...)
	for _, one := range entries {
		if err == nil {
			err = n.guard(one)
		}
	}
	if err == nil { // a node may have acted on what others answered meanwhile
		open := func(a *Agent) error {
			_, err := n.answerable(a, last.Origin, &v)
			if err != nil && n.voted(ctx, a, last) != nil {
				return nil
			}
			return err
		}
		_, err = n.putBy(ctx, a, told, func(ctx context.Context, id AgentID, entries ...*Entry) error {
			return n.besideIf(ctx, id, open, entries...)
		}, entries)
	}
	if errors.Is(err, ErrBehind) {
		return nil, false, WithHint(alreadyErr("the agent has gone on since this answer was prepared"),
			"prepare it again")
	}
	if errors.As(err, new(alreadyErr)) {
		return nil, false, err
	}
	if err != nil {
		return nil, false, fmt.Errorf("take the answer to %s: %w", id.Short(), err)
	}
	n.relist(ctx, id)
	return last, false, nil
}

// votedWithin is how far back an answer is looked for by the message it came in: nobody sends one again after so long.
const votedWithin = 31 * 24 * time.Hour

// Voted reports whether an agent has an answer of this key that came in the message with this id, in the last month. It
// reads the memory that far back.
func (n *Node) Voted(ctx context.Context, id AgentID, by Key, message string) (bool, error) {
	since := TimeOf(time.Now().Add(-votedWithin))
	older := func(snapshot *Entry) bool { return snapshot.Time < since }
	for e, err := range Backwards(ctx, n.Store, id, older) {
		if err != nil {
			return false, fmt.Errorf("look for an answer to agent %s: %w", id.Short(), err)
		}
		if ev, _ := e.content.(Event); e.Origin == by && ev.ID == message {
			if _, vote := ev.Notice.(Approval); vote {
				return true, nil
			}
		}
	}
	return false, nil
}

// voted is an entry that is here already; nil: it is not.
func (n *Node) voted(ctx context.Context, a *Agent, e *Entry) *Entry {
	if r := a.recent(e.Name); r != nil {
		return r
	}
	// what came before a snapshot is not as high as that
	before := func(snapshot *Entry) bool { return snapshot.Seq <= e.Seq }
	for one, err := range Backwards(ctx, n.Store, a.ID(), before) {
		if err != nil {
			return nil
		}
		if one.Name == e.Name && bytes.Equal(one.header, e.header) {
			return one
		}
	}
	return nil
}

type journalKey struct{}

// WithJournal has a node call keep with the entries it is about to store for one request, before it does. If keep
// fails, nothing is stored. Whoever kept them can store them again after a crash with Store.Put, which adds nothing
// twice. What a call tries again is kept again, and takes the place of what was kept before; what ctx keeps already is
// kept first.
func WithJournal(ctx context.Context, keep func(id AgentID, entries []*Entry) error) context.Context {
	if outer, ok := ctx.Value(journalKey{}).(func(AgentID, []*Entry) error); ok {
		inner := keep
		keep = func(id AgentID, entries []*Entry) error {
			if err := outer(id, entries); err != nil {
				return err
			}
			return inner(id, entries)
		}
	}
	return context.WithValue(ctx, journalKey{}, keep)
}

// journal calls what WithJournal was given, if anything was.
func journal(ctx context.Context, id AgentID, entries []*Entry) error {
	if keep, ok := ctx.Value(journalKey{}).(func(AgentID, []*Entry) error); ok {
		return keep(id, entries)
	}
	return nil
}
