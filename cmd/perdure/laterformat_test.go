package main

import (
	"context"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/testformat"
)

// laterMain is a perdure that knows a format of the future.
func laterMain() {
	testformat.Register()
	main()
}

// writeLater writes an agent whose last entry is of a format of the future as a capsule and that entry alone, in text,:
// later CAPSULE ENTRY.
func writeLater(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: later CAPSULE ENTRY")
	}
	testformat.Register()
	key, err := perdure.GenerateSigner("ann")
	ts.Check(err)
	g, err := key.Genesis(perdure.Genesis{Intent: perdure.Intent{Name: "tomorrow", Goal: "watch"},
		Charter: perdure.Charter{Scope: "acme"}}, time.UnixMilli(1))
	ts.Check(err)
	a, err := perdure.Begin(g)
	ts.Check(err)
	data, err := perdure.DataOf("the rain has stopped")
	ts.Check(err)
	today, _, err := key.Commit(a, time.UnixMilli(2), perdure.Draft{Body: perdure.Event{Name: "told", Data: data}})
	ts.Check(err)
	later, err := testformat.Rewrite(key, today[0])
	ts.Check(err)
	s := new(perdure.MemStore)
	ts.Check(s.Put(context.Background(), g.ID(), g, later))
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = capsule.Export(context.Background(), f, s, g.ID(), capsule.Options{Form: capsule.Text})
	ts.Check(err)
	ts.Check(f.Close())
	text, err := later.AppendText(nil)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), text, 0o600))
}
