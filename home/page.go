package home

import (
	"context"
	"encoding/base64"
	"errors"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// pageBytes is how much the agents of a page say together before it ends: as text for a client it may be six times as
// long, and no client reads a page without end.
const pageBytes = 2 << 20

// Page is some agents after a cursor, in the order of lists, at most so many, and fewer if they say very much; and the
// cursor for those that follow; empty: there are no more. Those that hides reports are left out; nil: none are.
func Page(
	ctx context.Context,
	s perdure.Store,
	f perdure.Filter,
	cursor string, limit int,
	hides func(perdure.Listing) bool) (found []perdure.Listing, next string, err error) {
	var after perdure.Listing
	if cursor != "" {
		if after, err = parseCursor(cursor); err != nil {
			return nil, "", err
		}
	}
	l, err := view.Lister(s)
	if err != nil {
		return nil, "", err
	}
	f.After = after.Place()
	size := 0
	for more := true; more; {
		f.Limit = limit - len(found) + 1
		n := 0
		for one, err := range l.List(ctx, f) {
			n++
			f.After = one.Place()
			switch {
			case err != nil:
				return nil, "", err
			case hides != nil && hides(one):
			case len(found) == limit:
				last := found[limit-1]
				return found, base64.RawURLEncoding.EncodeToString([]byte(last.Agent.String() + last.Name)), nil
			default:
				found = append(found, one)
				if size += extent(&one); size > pageBytes {
					limit = len(found)
				}
			}
		}
		more = n == f.Limit
	}
	return found, "", nil
}

// extent is how much a listing says.
func extent(l *perdure.Listing) int {
	n := len(l.Name) + len(l.Kind) + len(l.Scope)
	for k, v := range l.Labels {
		n += len(k) + len(v)
	}
	return n
}

func parseCursor(cursor string) (l perdure.Listing, err error) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	const id = 64
	if err == nil && len(b) >= id {
		l.Name = string(b[id:])
		err = l.Agent.UnmarshalText(b[:id])
	}
	if err != nil || len(b) < id {
		return l, perdure.Invalid(errors.New("this cursor is not one that was given; begin without one"))
	}
	return l, nil
}
