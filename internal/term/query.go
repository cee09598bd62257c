package term

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/itchyny/gojq"

	"github.com/perdure/perdure"
)

// Query is a jq expression, that of the flag --jq, which values go through before they are written.
type Query struct{ code *gojq.Code }

// ParseQuery reads a jq expression.
func ParseQuery(text string) (*Query, error) {
	q, err := gojq.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("--jq: %w", err)
	}
	code, err := gojq.Compile(q)
	if err != nil {
		return nil, fmt.Errorf("--jq: %w", err)
	}
	return &Query{code}, nil
}

// Write calls write with what the expression makes of a value. Texts, if they are not for YAML, go to w as they are, as
// jq -r writes them: scripts want the word.
func (q *Query) Write(ctx context.Context, w io.Writer, v any, texts bool, write func(any) error) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var plain any
	if err := json.Unmarshal(b, &plain); err != nil {
		return err
	}
	results := q.code.RunWithContext(ctx, plain)
	for {
		r, ok := results.Next()
		if !ok {
			return nil
		}
		if err, bad := r.(error); bad {
			return perdure.WithHint(fmt.Errorf("--jq: %w", err), "--json shows what the expression is applied to")
		}
		if s, isText := r.(string); isText && texts {
			_, err = fmt.Fprintln(w, s)
		} else {
			err = write(r)
		}
		if err != nil {
			return err
		}
	}
}
