package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// keptSuffix is what the name of a stream ends with that keeps what an index had, while that is made anew.
const keptSuffix = "_kept"

// kept is where a message of an index, or all its messages, are kept aside.
func (t *streams) kept(subject string) string {
	return t.prefix + "kept." + strings.TrimPrefix(subject, t.prefix)
}

// keptAll is where it says that all that could be read of an index is kept aside. No agent has such a name.
func (t *streams) keptAll(subjects string) string {
	return strings.TrimSuffix(t.kept(subjects), "*") + "all"
}

// keptAside reads what is kept aside of an index; nil: nothing is.
func (s *Store) keptAside(ctx context.Context, stream, subject string) (m *message, err error) {
	err = s.try(ctx, func(ctx context.Context) error {
		var out struct {
			Message *message `json:"message"`
		}
		err := s.api(ctx, "STREAM.MSG.GET", stream+keptSuffix, query{Last: subject}, &out)
		if m = out.Message; isAPI(err, errNoMessage) || isAPI(err, errNoStream) { // mostly: try would wait for it
			m, err = nil, nil
		}
		return err
	})
	return m, err
}

// unfinished says whether it was cut off to make an index anew.
func (s *Store) unfinished(ctx context.Context, stream, subjects string) error {
	m, err := s.keptAside(ctx, stream, s.streams.keptAll(subjects))
	if m != nil {
		err = perdure.WithHint(errors.New("to make an index anew was cut off"), remake)
	}
	return err
}

// restocks is how often it is tried to empty an index while others write to it.
const restocks = 8

// restock empties an index of which the server cannot read everything, and stores anew what it can: nothing less takes
// such a message away. All of it is in a stream of its own before, where it is found while it is not in the index, and
// from which restock goes on where it was cut off. Where others wrote to the index meanwhile, what they wrote stays,
// and so does the damage.
func (s *Store) restock(ctx context.Context, stream, subjects string) error {
	for range restocks {
		if err := s.refill(ctx, stream, subjects); err != nil {
			return err
		}
		info, err := s.info(ctx, stream)
		if err != nil {
			return err
		}
		kept, rotten, err := s.legibles(ctx, stream, s.streams.prefix+subjects)
		if err != nil || len(rotten) == 0 {
			return err
		}
		if stream == s.streams.claim {
			refence(kept, rotten)
		}
		if err := s.keep(ctx, stream, subjects, info, kept); err != nil {
			return fmt.Errorf("keep what can be read of an index: %w", err)
		}
	}
	return errIndex
}

// emptied is how far an index is emptied of which all is kept aside.
type emptied struct {
	Upto uint64 `json:"upto"`
}

// keep keeps aside what an index has, and says so last.
func (s *Store) keep(ctx context.Context, stream, subjects string, info *streamInfo, kept map[string][]byte) error {
	c := s.config(stream+keptSuffix, "Perdure: an index that is made anew", info.Config.Replicas, "kept."+subjects)
	c.PerSubject, c.Discard = 1, "old"
	err := s.try(ctx, func(ctx context.Context) error {
		var out streamInfo
		return s.api(ctx, "STREAM.CREATE", c.Name, c, &out)
	})
	for subject, data := range kept {
		if err == nil {
			_, err = s.store(ctx, s.streams.kept(subject), data, anything)
		}
	}
	if err != nil {
		return err
	}
	b, err := json.Marshal(emptied{info.State.LastSeq})
	if err == nil {
		_, err = s.store(ctx, s.streams.keptAll(subjects), b, anything)
	}
	return err
}

// refill empties an index of which all is kept aside, and stores that anew where nobody has written since.
func (s *Store) refill(ctx context.Context, stream, subjects string) error {
	m, err := s.keptAside(ctx, stream, s.streams.keptAll(subjects))
	if err != nil || m == nil {
		return err
	}
	var e emptied
	if err := json.Unmarshal(m.Data, &e); err != nil {
		return err
	}
	kept, rotten, err := s.legibles(ctx, stream+keptSuffix, s.streams.kept(s.streams.prefix+subjects))
	if err != nil {
		return err
	}
	if stream == s.streams.claim {
		refence(kept, rotten)
	}
	if err := s.purge(ctx, stream, ">", e.Upto+1); err != nil {
		return err
	}
	for subject, data := range kept {
		to := s.streams.prefix + strings.TrimPrefix(subject, s.streams.prefix+"kept.")
		if _, err := s.store(ctx, to, data, 0); err != nil && !errors.Is(err, errMoved) {
			return err
		}
	}
	return s.unmake(ctx, stream+keptSuffix)
}

// legibles are the messages of an index of agents that can be read, by their subjects, and the subjects of those that
// cannot. What nodes say of themselves is not among the first: they say it again.
func (s *Store) legibles(ctx context.Context, stream, subjects string) (kept map[string][]byte, rotten []string,
	err error) {
	all, err := s.subjects(ctx, stream, subjects)
	kept = map[string][]byte{}
	for _, subject := range all {
		m, err := s.last(ctx, stream, subject)
		if errors.Is(err, errRotten) {
			rotten = append(rotten, subject)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if _, ok := agentOf(subject); ok && m != nil {
			kept[subject] = m.Data
		}
	}
	return kept, rotten, err
}

// refence adds claims of nobody in the place of those that are lost. Fences grow with the time, so the next is above
// any that was given, also by a node whose clock was ahead, as long as one of its claims is left.
func refence(kept map[string][]byte, rotten []string) {
	fence := int64(perdure.TimeOf(time.Now()))
	for _, data := range kept {
		var r record
		if json.Unmarshal(data, &r) == nil {
			fence = max(fence, r.Fence)
		}
	}
	for _, subject := range rotten {
		if _, ok := agentOf(subject); ok {
			kept[subject], _ = json.Marshal(record{Fence: fence})
		}
	}
}
