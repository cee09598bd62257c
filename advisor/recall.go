package advisor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor/internal/told"
)

// recollection is the transcript of an agent, and up to where it goes. Kept between turns it saves rendering the same
// entries again; it is never the truth: what does not fit the agent is thrown away and made anew from its entries.
type recollection struct {
	*transcript
	summary perdure.Hash
	last    perdure.Hash // the last entry in it
	count   int64        // the entries of the fold it was made for
	intent  perdure.Hash // that the tools it names were those of
	held    int          // the tokens it was kept for
}

// take is the recollection of an agent, brought up to its newest entry.
func (l *LLM) take(ctx context.Context, a *perdure.Agent, names *wireNames) (*recollection, error) {
	f := a.Fold()
	l.mu.Lock()
	r := l.kept[a.ID()]
	l.drop(a.ID())
	l.mu.Unlock()
	if r != nil && r.summary == f.Summary && r.intent == f.Edited && r.follow(a) {
		return r, nil
	}
	return l.recall(ctx, a, names)
}

// put keeps a recollection for the next turn, in the place of others if there are too many.
func (l *LLM) put(id perdure.AgentID, r *recollection) {
	if r == nil || r.tokens > keptTokens {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(id)
	for other := range l.kept {
		if l.tokens+r.tokens <= keptTokens {
			break
		}
		l.drop(other)
	}
	if l.kept == nil {
		l.kept = map[perdure.AgentID]*recollection{}
	}
	r.held = r.tokens
	l.kept[id], l.tokens = r, l.tokens+r.held
}

// drop forgets a recollection. The caller holds the lock.
func (l *LLM) drop(id perdure.AgentID) {
	if r := l.kept[id]; r != nil {
		l.tokens -= r.held
		delete(l.kept, id)
	}
}

// Release implements perdure.Releaser. What is kept for single agents stays, within its bound: it is no more than a
// shorter way to what their memory says, and they may come back for the next turn of a conversation.
func (l *LLM) Release(ids ...perdure.AgentID) {
	if len(ids) > 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept, l.tokens = nil, 0
}

// follow adds the entries since, if they all come after what is there, and none of them says that some of that does not
// count any more.
func (r *recollection) follow(a *perdure.Agent) bool {
	r.by = a.SaidBy
	var since []*perdure.Entry
	for e := range a.Counting() {
		if ev, ok := e.Content().(perdure.Event); ok {
			if _, change := ev.Notice.(perdure.KeyChange); change && e.Name != r.last {
				return false
			}
		}
		if e.Name == r.last {
			if a.Fold().Count != r.count+int64(len(since)) {
				return false // something was folded in between, or does not count
			}
			for _, e := range slices.Backward(since) {
				r.enter(a.Fold(), e)
			}
			r.count = a.Fold().Count
			return true
		}
		since = append(since, e)
	}
	return false
}

// enter adds the next entry that counts.
func (r *recollection) enter(f *perdure.Fold, e *perdure.Entry) {
	r.last = e.Name
	if r.ledger.Counts(f, e) {
		r.add(e)
	}
}

// recall makes the recollection of an agent from its entries: those it holds, or if they do not reach back far enough,
// those of the store.
func (l *LLM) recall(ctx context.Context, a *perdure.Agent, names *wireNames) (*recollection, error) {
	f := a.Fold()
	entries, from, reached := reach(f, slices.Collect(a.Counting()))
	if !reached && l.Store != nil {
		var err error
		if entries, from, err = read(ctx, a.Reader(l.Store), f); err != nil {
			return nil, fmt.Errorf("read the transcript of agent %s: %w", a.ID().Short(), err)
		}
	}
	before, err := l.forked(ctx, f, names, a.SaidBy, maxForks)
	if err != nil {
		return nil, fmt.Errorf("read what agent %s was forked from: %w", a.ID().Short(), err)
	}
	return l.render(f, entries, from, names, a.SaidBy, before), nil
}

// maxForks bounds how many forks of forks a conversation is followed through.
const maxForks = 16

// forked is the conversation a fork goes on with: that of the agent it was forked from, up to that point. It is nil for
// who is no fork, when a summary stands for it, and where that agent is not in the store.
func (l *LLM) forked(ctx context.Context, f *perdure.Fold, names *wireNames, by told.Names, depth int) (*transcript,
	error) {
	in := f.Lineage
	if in == nil || in.Relation != perdure.Fork || l.Store == nil || !f.Summary.IsZero() || depth == 0 {
		return nil, nil
	}
	parent, err := perdure.AgentAt(perdure.Memory(ctx, l.Store, in.Parent), in.Cause)
	if errors.Is(err, perdure.ErrNotFound) || errors.Is(err, perdure.ErrRejected) {
		return nil, nil // it is elsewhere, or not what it was: the fork stands on its own
	}
	if err != nil {
		return nil, err
	}
	before, err := l.forked(ctx, parent.Fold(), names, by, depth-1)
	if err != nil {
		return nil, err
	}
	entries, from, _ := reach(parent.Fold(), slices.Collect(parent.Counting()))
	t := l.render(parent.Fold(), entries, from, names, by, before).transcript
	for i := range t.marks {
		t.marks[i].seq = 0 // a place in another memory
	}
	t.open.seq = 0
	return t, nil
}

// render makes the recollection of the entries from a seq on, after what came before, if anything did.
func (l *LLM) render(f *perdure.Fold, entries []*perdure.Entry, from int64, names *wireNames,
	by told.Names, before *transcript) *recollection {
	r := &recollection{
		transcript: before, summary: f.Summary, count: f.Count, intent: f.Edited,
	}
	if before == nil {
		r.transcript = newTranscript(l.Model.Family(), names, by, shownResult)
		r.begin(f, entries)
	}
	for _, e := range entries {
		if e.Seq >= f.Since {
			r.clip = shownResult
		}
		if e.Seq >= from {
			r.enter(f, e)
		}
	}
	if len(entries) > 0 {
		r.last = entries[len(entries)-1].Name
	}
	return r
}

// begin begins the transcript: with the summary of what is not in it, if there is one, or with what is known of turns
// that have expired.
func (r *recollection) begin(f *perdure.Fold, entries []*perdure.Entry) {
	opening := "Begin."
	if slices.ContainsFunc(entries, expired) {
		opening = expiredOpening(f)
	}
	for _, e := range entries {
		if adv, ok := e.Content().(perdure.Advice); ok && e.Name == f.Summary {
			opening = summaryOpening + adv.Summary
			if clip := remarkOf(adv.Raw).clip; clip > 0 {
				r.clip = int(clip)
			}
		}
	}
	r.push(Message{Parts: []Part{Text(opening)}}, 0)
}

// summaryOpening begins a transcript that something came before.
const summaryOpening = "Summary of what happened before:\n"

// reach puts entries in order and finds the seq the transcript begins at, and whether the entries reach back to it.
func reach(f *perdure.Fold, entries []*perdure.Entry) (ordered []*perdure.Entry, from int64, reached bool) {
	slices.SortFunc(entries, func(x, y *perdure.Entry) int { return x.Position().Compare(y.Position()) })
	found := f.Summary.IsZero()
	for _, e := range entries {
		if e.Name == f.Summary {
			adv, _ := e.Content().(perdure.Advice)
			if from, found = remarkOf(adv.Raw).keep, true; from == 0 {
				from = e.Seq
			}
		}
	}
	if len(entries) == 0 || !found {
		return entries, f.Since, false
	}
	return entries, from, entries[0].Kind == perdure.KindGenesis || entries[0].Seq < from
}

// read reads the entries of the transcript, from before it on: the summary it begins with says where that is.
func read(ctx context.Context, memory *perdure.Reader, f *perdure.Fold) ([]*perdure.Entry, int64, error) {
	since := f.Since
	for {
		entries, err := memory.Since(ctx, since)
		if err != nil {
			return nil, 0, err
		}
		entries, from, _ := reach(f, entries)
		if since <= from {
			return entries, from, nil
		}
		since = from
	}
}
