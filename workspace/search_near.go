package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure"
)

const (
	// embedAtOnce is how many texts a search embeds at most before it answers; the rest waits for the next, or for
	// EmbedAll.
	embedAtOnce = 512
	// fuseConstant is that of reciprocal rank fusion.
	fuseConstant = 60
	// leastNear is the cosine below which a text means something else, whatever the model.
	leastNear = 0.1
	// nearShare is how near a text must be, of how near the nearest is. What counts as near differs between models.
	nearShare = 0.5
	// mostNear is how many texts are kept while the nearest are looked for.
	mostNear = 2048
)

// fused is what was found by words together with what is near in meaning, by reciprocal rank. A server that does not
// answer leaves words alone, and the search says so.
func (f *finder) fused(ctx context.Context, byWords []*Found) ([]*Found, error) {
	asked, err := f.meaning(ctx, f.s.Text)
	if err != nil {
		f.missed("words alone were searched", err)
		return byWords, ctx.Err()
	}
	question := packed(asked)
	if err := f.embedNew(ctx, len(question)); err != nil {
		f.missed("some texts were searched by words alone", err)
	}
	near, err := f.near(ctx, question)
	if err != nil {
		return nil, err
	}
	return fuse(byWords, near), nil
}

// embedNew embeds some of what has no vector, for as long as a search waits: a batch is kept when it is done, so the
// first are small, for a server that is slow.
func (f *finder) embedNew(ctx context.Context, size int) error {
	ctx, stop := context.WithTimeoutCause(ctx, askTimeout, errManyNew)
	defer stop()
	batch := 1
	for done := 0; done < embedAtOnce; batch = min(2*batch, embedBatch) {
		n, err := f.embedSome(ctx, batch, size)
		if err != nil && errors.Is(context.Cause(ctx), errManyNew) {
			return errManyNew
		}
		if err != nil || n == 0 {
			return err
		}
		done += n
	}
	return nil
}

// errManyNew is why texts are not found by what they mean yet.
var errManyNew = perdure.WithHint(fmt.Errorf("the embeddings server was not done with them within %s", askTimeout),
	"each search goes on with them; perdure search --rebuild does all of them")

// missed says what was not searched.
func (f *finder) missed(what string, why error) {
	if f.s.Note == nil {
		return
	}
	text := fmt.Sprintf("%s, not meanings: %v", what, why)
	var hint *perdure.Hint
	if errors.As(why, &hint) {
		text += "; " + hint.Do
	}
	f.s.Note(text)
}

// fuse ranks what is in several lists: each list adds to what it has the reciprocal of its rank there.
func fuse(lists ...[]*Found) (all []*Found) {
	type unit struct{ version, item int64 }
	known, scores := map[unit]*Found{}, map[*Found]float64{}
	for _, list := range lists {
		for i, c := range list {
			u := unit{item: c.item}
			if c.once() {
				u = unit{version: c.version}
			}
			if known[u] == nil {
				known[u] = c
				all = append(all, c)
			}
			scores[known[u]] += 1 / float64(fuseConstant+i+1)
		}
	}
	for c, score := range scores {
		c.Score = score
	}
	slices.SortStableFunc(all, func(a, b *Found) int { return cmp.Compare(b.Score, a.Score) })
	return all
}

// nearby is a text that may be near.
type nearby struct {
	Found
	agent int64
}

// near is what is nearest in meaning of what the reader may see. What is much farther than the nearest of that is left
// out: every text has some distance to every other.
func (f *finder) near(ctx context.Context, asked []byte) (found []*Found, err error) {
	best, err := f.nearest(ctx, asked)
	if err != nil {
		return nil, err
	}
	docs, least := map[int64]bool{}, leastNear
	for _, c := range best {
		if len(found) == fewest || c.Score < least {
			break
		}
		if c.once() && docs[c.version] {
			continue
		}
		ok, err := f.show(ctx, &c.Found, c.agent)
		if err != nil {
			return nil, err
		}
		if ok {
			docs[c.version] = true
			least = max(least, nearShare*c.Score)
			found = append(found, &c.Found)
		}
	}
	return found, nil
}

// nearest are the texts that are nearest in meaning, whoever may see them.
func (f *finder) nearest(ctx context.Context, asked []byte) (best []*nearby, err error) {
	rows, err := f.Index.db.QueryContext(ctx, "SELECT v.item, v.value, i.agent, coalesce(i.version, 0), "+
		"i.at, i.kind FROM vector v JOIN item i ON i.id=v.item "+
		"WHERE v.model=? AND (i.expires=0 OR i.expires>?)", f.Embed.Name(), int64(f.now))
	if err != nil {
		return nil, err
	}
	sort := func() {
		slices.SortStableFunc(best, func(a, b *nearby) int { return cmp.Compare(b.Score, a.Score) })
	}
	for rows.Next() {
		c := &nearby{}
		var value []byte
		var at int64
		if err := rows.Scan(&c.item, &value, &c.agent, &c.version, &at, &c.Kind); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		c.Time, c.Score = perdure.Time(at), nearness(asked, value)
		if c.Score >= leastNear && f.fits(&c.Found) {
			best = append(best, c)
		}
		if len(best) > 4*mostNear {
			sort()
			best = best[:mostNear]
		}
	}
	sort()
	return best, errors.Join(rows.Err(), rows.Close())
}
