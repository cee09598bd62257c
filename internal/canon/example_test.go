package canon_test

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/canon"
)

type Note struct {
	Title string   `canon:"1,title"`
	Tags  []string `canon:"2,tags,omitzero"`
	Views uint64   `canon:"3,views,omitzero"`
}

var notes = canon.For[Note]("note")

func Example() {
	b, err := notes.Append(nil, &Note{Title: "Zürich", Tags: []string{"city"}, Views: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%x\n", b)

	text, _ := canon.ToText(nil, notes.Type(), b)
	fmt.Printf("%s\n", text)

	b[len(b)-1] = 0 // zero views are written by leaving them out
	var n Note
	var r *canon.Rejection
	if err := notes.Decode(b, &n, canon.Limits{}); errors.As(err, &r) {
		fmt.Println(r.Predicate, r.Path, r.Offset)
	}
	// Output:
	// a301675ac3bc72696368028164636974790303
	// {"tags":["city"],"title":"Zürich","views":"3"}
	// field.empty $.views 18
}
