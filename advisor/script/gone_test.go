package script_test

import (
	"testing"
	"testing/synctest"

	"github.com/perdure/perdure"
)

// A value that was collected is not one that is not there: the script stops as it does for a condition, and does not
// end for good, nor go on with something else.
func TestAScriptDoesNotEndBecauseATemplateReadsWhatWasCollected(t *testing.T) {
	for _, value := range []string{"${results.pay.signal}", "${last.result}", "${said}"} {
		text := `
turns:
  - {execute: {tool: echo, args: {n: 1}}, as: pay}
  - {sleep: {on: go}, as: go}
  - {execute: {tool: echo, args: {n: 2, of: '` + value + `'}}}
  - {sleep: {on: go}}
  - end: {result: done}
`
		synctest.Test(t, func(t *testing.T) {
			m := newMoving(t, text)
			run(t, m.n, m.id)
			if value != "${results.pay.signal}" {
				tell(t, m.n, m.id, perdure.Event{Name: "go"})
				m.cycle() // it is awake
			}
			collect(t, m.n, m.id)
			m.move()
			m.resume()
			a := load(t, m.n, m.id)
			if e := a.Fold().Ended; e != nil {
				t.Errorf("%s: it ended for good: %v %s", value, e.Signal, e.Note)
			}
			if len(a.Fold().Incapable) == 0 {
				t.Errorf("%s: it did not stop; calls %v", value, m.calls)
			}
		})
	}
}

// A condition on vars reads what stays, whatever the variable is called, and whatever a text in it says.
func TestAConditionOnVarsIsNotStopped(t *testing.T) {
	for _, when := range []string{`has(vars.last)`, `kind != "said"`, `kind != "results"`} {
		text := `
turns:
  - {execute: {tool: echo, args: {n: 1}}, as: pay}
  - {sleep: {on: go}, as: go}
  - {when: '` + when + `', execute: {tool: echo, args: {n: 2}}}
  - end: {result: done}
`
		synctest.Test(t, func(t *testing.T) {
			m := newMoving(t, text)
			run(t, m.n, m.id)
			tell(t, m.n, m.id, perdure.Event{Name: "go"})
			m.cycle()
			collect(t, m.n, m.id)
			m.move()
			m.resume()
			a := load(t, m.n, m.id)
			if a.Fold().Ended == nil {
				note := ""
				for _, x := range a.Fold().Incapable {
					note = x.Note
				}
				t.Errorf("%s: stopped: %s", when, note)
			}
		})
	}
}
