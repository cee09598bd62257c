package perdure

// Ledger tells which outcomes count to whoever reads a memory entry by entry, instead of its fold: it is shown the
// entries that count, in fold order, see Reader. Of each decision the first that is believed does, and one that says
// that it happened after one after which it is to be tried again. Of a once effect that it happened outweighs
// everything: it counts after any other, and that a person refused it in a copy, or did not answer there, counts no
// more once it has. What a person settled is an outcome like others, which is always believed. The zero Ledger is ready
// for use.
type Ledger struct {
	decided map[Hash]*reckoned
	asked   map[proposal]*reckoned
}

// proposal is one action of an advice, or an effect that is tried again, which no advice proposes.
type proposal struct {
	advice Hash
	index  int64
	key    Hash // of the effect, where there is no advice
}

// reckoned is a decision in a ledger.
type reckoned struct {
	by     Key
	class  Effect
	asks   bool
	signal Signal    // of what came of it; zero: nothing yet
	answer *reckoned // the question whose approvals it uses
}

// Counts reports whether whoever reads a memory is to take an entry for what it says. It is false only for outcomes. F
// is the fold of the memory. An entry is shown either to Counts or to Came, and once.
func (l *Ledger) Counts(f *Fold, e *Entry) bool {
	return l.Came(f, e) != nil || e.Kind != KindOutcome || e.content == nil
}

// Came is what came of a decision, if an entry says so, be it an outcome or a Settle, and counts; else nil. A later one
// of the same decision outweighs it. Those of decisions that the ledger was not shown count.
func (l *Ledger) Came(f *Fold, e *Entry) *Outcome {
	switch b := e.content.(type) {
	case Decision:
		l.decide(e, &b)
	case Outcome:
		d := l.decided[b.Decision]
		if d == nil {
			return &b
		}
		if (d.asks || f.believes(e.Origin, &Open{Origin: d.by, Effect: d.class}, &b)) && d.take(b.Signal, false) {
			return &b
		}
	case Event:
		n, ok := b.Notice.(Settle)
		if !ok {
			return nil
		}
		if d := l.decided[n.Decision]; d == nil || d.take(n.Signal, true) {
			return &Outcome{Decision: n.Decision, Signal: n.Signal, Result: n.Result, Note: n.Note, Set: b.Set,
				Taint: b.Taint, Reconciled: true}
		}
	case Genesis, Advice, Snapshot, nil:
	}
	return nil
}

// decide enters a decision.
func (l *Ledger) decide(e *Entry, b *Decision) {
	if l.decided == nil {
		l.decided = map[Hash]*reckoned{}
	}
	d := &reckoned{by: e.Origin, class: b.Effect, asks: b.Verdict.Answer == Ask}
	l.decided[e.Name] = d
	of := proposal{advice: b.Advice, index: b.Index}
	if b.Advice.IsZero() {
		of.key = b.Key
	}
	switch {
	case d.asks:
		if l.asked == nil {
			l.asked = map[proposal]*reckoned{}
		}
		l.asked[of] = d
	case len(b.Approvals) > 0 && b.Verdict.Answer == Allow:
		d.answer = l.asked[of]
	}
}

// take takes a signal for what came of the decision, unless that is known. Settled says that a person looked.
func (d *reckoned) take(s Signal, settled bool) bool {
	tried := d.signal == Throttled || d.signal == Incapable
	switch {
	case d.signal == 0, tried && (settled || s == OK):
	case s != OK || d.signal == OK || d.class.Repeatable():
		return false
	}
	d.signal = s
	if s == OK && d.answer != nil && !d.class.Repeatable() {
		d.answer.signal = OK
	}
	return true
}
