package home

import (
	"context"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Summary is an agent on one screen, at a point in its memory, and the time as of which it is: now, or that of the
// point.
func (h *Home) Summary(ctx context.Context, s perdure.Store, p *Point) (v view.Summary, now time.Time, err error) {
	return h.summary(ctx, s, p, h.nodeKey())
}

// summary is Summary for whoever has a key: what their answer does not count for is said to be for others. Zero: nobody
// knows which key they would answer with.
func (h *Home) summary(ctx context.Context, s perdure.Store, p *Point, me perdure.Key) (v view.Summary, now time.Time,
	err error) {
	now = time.Now()
	if p.Entry != nil {
		now = p.Entry.Time.Go().Local()
	}
	trust, err := h.Trust()
	if err != nil {
		return v, now, err
	}
	v = view.Summarize(p.Agent, trust, h.KeyNames(), me, now)
	v.Unfit = h.unfit(p.Agent.Fold())
	if l := lastingOf(s); l != nil {
		v.Survives = l.Survives()
	}
	if set, err := new(Powers).Policy(h); err == nil { // whoever runs it is told why it does not load
		v.Judge(set, p.Agent, now)
	}
	if p.Entry == nil {
		at, err := view.AttendanceOf(ctx, s)
		if err != nil {
			return v, now, err
		}
		older, err := h.Behind(ctx, s, p.Agent)
		if err != nil {
			return v, now, err
		}
		strays := at.Strays(p.Agent, now)
		v.Waits = append(strays, v.Waits...)
		place, err := h.PlaceOf(ctx, s)
		if err != nil {
			return v, now, err
		}
		v.Seated(p.Agent, trust, me, place, now)
		v.Attended(&at, p.Agent, strays, now)
		v.Outrun(older)
	}
	if err := view.DescribeAll(ctx, s, p.Agent, v.Waits); err != nil {
		return v, now, err
	}
	return v, now, v.FindChildren(ctx, s)
}
