package main

import "github.com/perdure/perdure"

// seated is a genesis of an agent that has a seat.
func seated() perdure.Genesis {
	g := bare()
	g.Seat = perdure.HashOf([]byte("here"))
	return g
}

// pays writes an allowed call that must happen once.
func (l *life) pays() perdure.Hash {
	d := allow(perdure.Execute{Tool: "pay"})
	d.Effect = perdure.Once
	return l.write(1, d)
}

func onceOthers() (*life, error) {
	l := begin(seated())
	first := l.pays()
	l.write(2, perdure.Outcome{Decision: first, Signal: perdure.Failed, Set: map[string]perdure.Data{"paid": {0}}})
	second := l.pays()
	l.write(1, perdure.Outcome{Decision: second, Signal: perdure.Throttled, RetryAfter: 1000})
	third := l.pays()
	l.write(1, perdure.Outcome{Decision: third, Signal: perdure.Incapable})
	l.write(2, perdure.Outcome{Decision: third, Signal: perdure.OK, Took: 7, Set: map[string]perdure.Data{"paid": {1}}})
	return l, l.err
}

func onceLooked() (*life, error) {
	g := seated()
	g.Charter.Delegates = []perdure.Key{signer(2).Key()}
	l := begin(g)
	looked, did := l.pays(), l.pays()
	l.write(2, perdure.Outcome{Decision: looked, Signal: perdure.Failed, Reconciled: true})
	l.write(2, perdure.Outcome{Decision: did, Signal: perdure.Failed})
	return l, l.err
}

func onceSettled() (*life, error) {
	l := begin(bare())
	first, second := l.pays(), l.pays()
	l.write(2, perdure.Outcome{Decision: first, Signal: perdure.Failed})
	l.write(2, perdure.Outcome{Decision: second, Signal: perdure.Incapable, Note: "not here"})
	l.write(3, perdure.Event{Name: "settle", By: "person", Notice: perdure.Settle{Decision: second,
		Signal: perdure.Failed, Note: "it is not in the books"}})
	return l, l.err
}

func seatAgain() (*life, error) {
	l := begin(seated())
	here, begun := perdure.HashOf([]byte("here")), perdure.Hash(l.a.ID())
	again := l.write(2, told(perdure.SeatTaken{At: here, Of: []perdure.Hash{begun}}))
	l.write(2, told(perdure.SeatGiven{At: here, Of: []perdure.Hash{begun, again}}))
	return l, l.err
}

func childEndedID() (*life, error) {
	l := begin(bare())
	l.write(1, l.delegation(func(*perdure.Genesis) {}))
	if l.err != nil {
		return nil, l.err
	}
	child := l.a.Fold().Children[0].Agent
	l.write(2, perdure.Event{Name: "noise", By: child.String(), ID: "ended"})
	ended := perdure.ChildEnded{Child: child, Signal: perdure.OK, Spend: &perdure.Spend{Cost: 3}}
	for range 2 {
		l.write(1, perdure.Event{Name: "child-ended", By: child.String(), ID: "ended", Notice: ended})
	}
	return l, l.err
}

func grantID() (*life, error) {
	l := begin(bare())
	grant := perdure.Event{Name: "grant", By: "boss", ID: "june", Notice: perdure.Grant{Amount: perdure.Spend{Cost: 5}}}
	l.write(2, perdure.Event{Name: "noise", By: "boss", ID: "june"}, grant)
	l.write(1, grant)
	l.write(1, grant)
	return l, l.err
}
