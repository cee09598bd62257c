package advisor

import (
	"slices"

	"github.com/perdure/perdure"
)

// remark is what an LLM keeps in the Raw of an advice: what only it, or the provider, has to know again.
type remark struct {
	family  string                  // whose raw and opaque it is
	raw     perdure.Data            // what the provider must get back with the reply
	opaque  map[string]perdure.Data // and with its calls, by id
	calls   []string                // the ids in the order they were made, when the actions are in another
	args    map[string]string       // the arguments of calls that do not read back from their actions, by id
	bad     []badCall               // calls that became no action
	nothing string                  // what the model is told when the reply came to nothing
	keep    int64                   // with a summary: the seq from which on the transcript is shown still
	clip    int64                   // and the bytes of a result from before the summary, when not the usual
}

// badCall is a call that became no action, and why.
type badCall struct{ id, name, args, why string }

// data is the remark as Raw; nothing to remark is no Raw.
func (r *remark) data() perdure.Data {
	m := map[string]any{}
	if len(r.raw) > 0 {
		m["raw"] = r.raw
	}
	if len(r.opaque) > 0 {
		calls := make(map[string]any, len(r.opaque))
		for id, d := range r.opaque {
			calls[id] = d
		}
		m["opaque"] = calls
	}
	if m["raw"] != nil || m["opaque"] != nil {
		m["family"] = r.family
	}
	if len(r.calls) > 0 {
		m["calls"] = r.calls
	}
	if len(r.args) > 0 {
		m["args"] = r.args
	}
	if len(r.bad) > 0 {
		list := make([]any, len(r.bad))
		for i, b := range r.bad {
			list[i] = map[string]any{"id": b.id, "name": b.name, "args": b.args, "why": b.why}
		}
		m["bad"] = list
	}
	if r.nothing != "" {
		m["nothing"] = r.nothing
	}
	if r.keep != 0 {
		m["keep"] = r.keep
	}
	if r.clip != 0 {
		m["clip"] = r.clip
	}
	if len(m) == 0 {
		return nil
	}
	d, err := perdure.DataOf(m)
	if err != nil { // text that is not UTF-8 was made so before
		return nil
	}
	return d
}

// remarkOf reads a remark. What another advisor put there reads as none.
func remarkOf(d perdure.Data) remark {
	var r remark
	m, ok := d.Value().(map[string]any)
	if !ok {
		return r
	}
	r.family, _ = m["family"].(string)
	r.nothing, _ = m["nothing"].(string)
	r.keep, _ = m["keep"].(int64)
	r.clip, _ = m["clip"].(int64)
	if v, ok := m["raw"]; ok {
		r.raw, _ = perdure.DataOf(v) //nolint:errcheck // it was data
	}
	if calls, ok := m["opaque"].(map[string]any); ok {
		r.opaque = make(map[string]perdure.Data, len(calls))
		for id, v := range calls {
			r.opaque[id], _ = perdure.DataOf(v) //nolint:errcheck // it was data
		}
	}
	if args, ok := m["args"].(map[string]any); ok {
		r.args = make(map[string]string, len(args))
		for id, v := range args {
			r.args[id], _ = v.(string)
		}
	}
	list, _ := m["calls"].([]any)
	for _, v := range list {
		id, _ := v.(string)
		r.calls = append(r.calls, id)
	}
	list, _ = m["bad"].([]any)
	for _, v := range list {
		f, _ := v.(map[string]any)
		var b badCall
		b.id, _ = f["id"].(string)
		b.name, _ = f["name"].(string)
		b.args, _ = f["args"].(string)
		b.why, _ = f["why"].(string)
		r.bad = append(r.bad, b)
	}
	return r
}

// order is where a call stood among those of its reply.
func (r *remark) order(id string) int { return slices.Index(r.calls, id) }
