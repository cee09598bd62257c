package perdure_test

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure"
)

type transfer struct {
	To     string   `json:"to"`
	Amount int64    `json:"amount"`
	Tags   []string `json:"tags,omitempty"`
}

// Data is made of any Go value that JSON could hold, and prints as JSON.
func ExampleDataOf() {
	d, err := perdure.DataOf(transfer{To: "ann", Amount: 9007199254740993})
	fmt.Println(d, err)

	_, err = perdure.DataOf(map[string]any{"reply": make(chan int)})
	if r := new(perdure.Rejection); errors.As(err, &r) {
		fmt.Printf("%s at %s: got %s, want %s\n", r.Predicate, r.Path, r.Got, r.Want)
	}
	// Output:
	// {"amount":9007199254740993,"to":"ann"} <nil>
	// field.type at $.reply: got chan int, want a value JSON could hold
}

// Decode sets a Go value. What does not fit is named by its place.
func ExampleData() {
	d, _ := perdure.DataFromJSON([]byte(`{"to":"ann","amount":9007199254740993}`))
	var t transfer
	fmt.Println(d.Decode(&t), t.To, t.Amount)

	var anything map[string]any
	fmt.Println(d.Decode(&anything), anything["amount"])

	var wrong struct {
		To []string `json:"to"`
	}
	fmt.Println(d.Decode(&wrong))
	// Output:
	// <nil> ann 9007199254740993
	// <nil> 9007199254740993
	// decode data: $.to: got the text "ann", want []string
}
