package a2a

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// ListTasks implements a2asrv.RequestHandler. Tasks are listed by the ids of their agents. They are counted for the
// first page alone, since to count them each has to be looked at; the token carries the count from page to page.
func (t tasks) ListTasks(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	size := cmp.Or(req.PageSize, usualPage)
	if size < 1 || size > maxPage {
		return nil, wrong(perdure.Invalid(fmt.Errorf("page size %d: want 1 to %d", size, maxPage)))
	}
	from, err := readPlace(req.PageToken)
	if err != nil {
		return nil, wrong(err)
	}
	ids, err := t.s.ids(ctx, req.ContextID)
	if err != nil {
		return nil, wrong(err)
	}
	if req.PageToken == "" {
		from.total, err = t.s.count(ctx, ids)
		if err != nil {
			return nil, err
		}
	}
	from.total = min(from.total, len(ids)) // a client may write what it likes, and tasks may go
	res := &a2a.ListTasksResponse{Tasks: []*a2a.Task{}, PageSize: size, TotalSize: from.total}
	none := 0
	for _, id := range ids {
		if id <= from.last {
			continue
		}
		one, err := t.s.task(ctx, a2a.TaskID(id), cmp.Or(req.HistoryLength, &none))
		if err != nil || req.Status != "" && one.Status.State != req.Status ||
			req.StatusTimestampAfter != nil && one.Status.Timestamp.Before(*req.StatusTimestampAfter) {
			continue // one that cannot be read hides no other
		}
		if !req.IncludeArtifacts {
			one.Artifacts = nil
		}
		if len(res.Tasks) == size {
			res.NextPageToken = from.String()
			break
		}
		res.Tasks, from.last = append(res.Tasks, one), id
	}
	return res, nil
}

// place is how far a list has got, as the token of a page says it: the last agent, and how many tasks there are.
type place struct {
	last  string
	total int
}

func (p place) String() string { return fmt.Sprintf("%s.%d", p.last, p.total) }

// readPlace reads the token of a page; none is the beginning.
func readPlace(token string) (p place, err error) {
	if token == "" {
		return p, nil
	}
	last, total, _ := strings.Cut(token, ".")
	p.last = last
	if p.total, err = strconv.Atoi(total); err != nil || p.total < 1 || new(perdure.AgentID).UnmarshalText(
		[]byte(last)) != nil {
		return p, perdure.Invalid(errors.New("want the page token of the answer before, or none"))
	}
	return p, nil
}

// ids are the agents of which the index says that they are tasks of whoever asks, of one context or of all, ascending.
// The index only finds: see own.
func (s *Server) ids(ctx context.Context, of string) (ids []string, err error) {
	l, err := view.Lister(s.Store)
	if err != nil {
		return nil, err
	}
	v, err := s.visitor(ctx)
	if err != nil {
		return nil, err
	}
	f := perdure.Filter{Labels: map[string]string{}}
	if of != "" {
		f.Labels[contextLabel] = of
	}
	if who := client(v); who != "" {
		f.Labels[clientLabel] = who
	}
	for one, err := range l.List(ctx, f) {
		if err != nil {
			return nil, err
		}
		if one.Labels[contextLabel] != "" {
			ids = append(ids, one.Agent.String())
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// count is how many of these agents are tasks of whoever asks. Agents that only say they are tasks, and those that
// cannot be read, are none.
func (s *Server) count(ctx context.Context, ids []string) (n int, err error) {
	v, err := s.visitor(ctx)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if _, err := s.own(ctx, v, id); err == nil {
			n++
		}
	}
	return n, ctx.Err()
}
