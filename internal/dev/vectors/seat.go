package main

import "github.com/perdure/perdure"

// seats is a seat that was handed over, taken twice without sight of each other, and then by the owner from both.
func seats() (*life, error) {
	here, there, third := perdure.HashOf([]byte("here")), perdure.HashOf([]byte("there")),
		perdure.HashOf([]byte("third"))
	g := bare()
	g.Seat = here
	l := begin(g)
	begun := perdure.Hash(l.a.ID())
	l.write(1, told(perdure.SeatTaken{At: there, Of: []perdure.Hash{begun}})) // it was not handed over
	given := l.write(1, told(perdure.SeatGiven{At: here, Of: []perdure.Hash{begun}}))
	other := l.fork()
	one := l.write(1, told(perdure.SeatTaken{At: there, Of: []perdure.Hash{given}}))
	two := other.write(2, told(perdure.SeatTaken{At: third, Of: []perdure.Hash{given}}))
	l.join(other)
	l.write(1, told(perdure.SeatTaken{At: there, Of: []perdure.Hash{one, two}, Lost: true, Note: "the third is gone"}))
	return l, l.err
}

// disputed is a seat that two stores have taken.
func disputed() (*life, error) {
	l := begin(bare())
	other := l.fork()
	l.write(1, told(perdure.SeatTaken{At: perdure.HashOf([]byte("here"))}))
	other.write(2, told(perdure.SeatTaken{At: perdure.HashOf([]byte("there"))}))
	l.join(other)
	return l, l.err
}

// doubled is an effect of two branches, found, told of twice, and settled.
func doubled(settle bool) (*life, error) {
	l := begin(bare())
	other := l.fork()
	d := allow(perdure.Execute{Tool: "mail"})
	d.Effect = perdure.Once
	first, second := l.write(1, d), other.write(2, d)
	l.join(other)
	found := told(perdure.Doubled{First: first, Second: second, Time: perdure.TimeOf(at(9))})
	l.write(1, found)
	l.write(2, found)
	if settle {
		l.write(1, perdure.Outcome{Decision: second, Signal: perdure.OK})
		l.write(2, told(perdure.Settle{Decision: second, Signal: perdure.OK, Note: "paid back"}))
	}
	return l, l.err
}

func doubledOpen() (*life, error)    { return doubled(false) }
func doubledSettled() (*life, error) { return doubled(true) }
