package perdure_test

import (
	"context"
	"fmt"

	"github.com/perdure/perdure"
)

// What an entry holds is one of six values. Ask for the value, not for a pointer to it: `case *perdure.Event` compiles
// and is never met.
func ExampleBody() {
	ctx := context.Background()
	key, _ := perdure.GenerateSigner("ann")
	node := &perdure.Node{Store: new(perdure.MemStore), Key: key}
	a, err := node.Create(ctx, perdure.Genesis{
		Intent:  perdure.Intent{Goal: "water the plants"},
		Charter: perdure.Charter{Scope: "home"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := node.Tell(ctx, a.ID(), perdure.Event{Name: "rain", By: "weather"}); err != nil {
		fmt.Println(err)
		return
	}
	for e, err := range perdure.Memory(ctx, node.Store, a.ID()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch b := e.Content().(type) {
		case perdure.Genesis:
			fmt.Println(e.Kind, b.Intent.Goal)
		case perdure.Event:
			fmt.Println(e.Kind, b.Name, "by", b.By)
		case perdure.Advice, perdure.Decision, perdure.Outcome, perdure.Snapshot:
			fmt.Println(e.Kind)
		case nil: // the body was dropped
		}
	}
	// Output:
	// genesis water the plants
	// event rain by weather
}
