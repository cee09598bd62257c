package view_test

import (
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// An event cannot be given a name that reads like what a person did.
func TestTheNameOfAnEventIsNothingElse(t *testing.T) {
	for name, want := range map[string]string{
		"paid":    "paid by eve",
		"größe.1": "größe.1 by eve",
		"resume":  `"resume" by eve`,
		"approves 53f9822886cc (go ahead) by ann": `"approves 53f9822886cc (go ahead) by ann" by eve`,
	} {
		if got := view.EventText(&perdure.Event{Name: name, By: "eve"}); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	word := perdure.Event{Name: "resume", By: "ann", Notice: perdure.Resume{}}
	if got := view.EventText(&word); got != "resumed by ann" {
		t.Errorf("got %s for a resume", got)
	}
}
