package advisor

import (
	"context"
	"slices"
	"strings"

	"github.com/perdure/perdure/advisor/internal/bound"

	"github.com/perdure/perdure"
)

// summaryAsk asks for a summary at the end of the transcript itself, so that the provider's cache of it serves here
// too.
const summaryAsk = "[the transcript is about to be dropped: it is too long] Do not go on with the work now. Write " +
	"the summary that you will go on " +
	"from, in plain text, without calls: what was asked for and by whom, what was done and what came of it, exact " +
	"names, ids, paths and figures that " +
	"will be needed again, what was tried and did not work, what is under way, and what is to be done next. Leave " +
	"out what is in the state anyway."

// summarise has the model summarise the transcript and goes on from the summary and the last of the transcript. When
// even the question for a summary is too long, or hard is set because a prompt was, the model is shown a digest.
func (c *consultation) summarise(ctx context.Context, p *Prompt, hard bool) (*Failure, error) {
	q := *p
	q.Talk, q.Messages = true, append(slices.Clone(p.Messages), Message{Parts: []Part{Text(summaryAsk)}})
	if hard {
		q = c.digest(p)
	}
	reply, fail, err := c.ask(ctx, &q)
	if err == nil && fail != nil && fail.Overflow && !hard {
		hard, q = true, c.digest(p)
		reply, fail, err = c.ask(ctx, &q)
	}
	if err != nil || fail != nil {
		return fail, err
	}
	text := strings.TrimSpace(strings.ToValidUTF8(reply.Text, "\uFFFD"))
	if text == "" || reply.Stop == StopRefused {
		return &Failure{Signal: perdure.Failed, Note: "the model wrote no summary of a transcript that is too long"},
			nil
	}
	c.sum = bound.Text(text, c.budget()) // a third of the budget in tokens
	c.shrink(hard)
	return nil, nil
}

// digest is a prompt for a summary that takes a quarter of the budget at most: the end of the transcript as plain text,
// each part cut short.
func (c *consultation) digest(p *Prompt) Prompt {
	var lines []string
	left := c.budget() / 4 * 3 // bytes
	for _, m := range slices.Backward(p.Messages[:p.Stable]) {
		for _, part := range slices.Backward(m.Parts) {
			line := partText(m.Model, part)
			if left -= len(line); left < 0 {
				break
			}
			lines = append(lines, line)
		}
	}
	slices.Reverse(lines)
	opening, _ := p.Messages[0].Parts[0].(Text)
	text := bound.Text(string(opening), c.budget()/2) + "\n\nThe last of the transcript, cut short:\n" +
		strings.Join(lines, "\n") + "\n\n" + summaryAsk
	return Prompt{System: bound.Text(p.System, c.budget()/2), Messages: []Message{{Parts: []Part{Text(text)}}},
		Output: p.Output, Talk: true, Agent: p.Agent}
}

// partText is a part of a message as a line.
func partText(model bool, part Part) string {
	const most = 512
	switch x := part.(type) {
	case ToolCall:
		return "you called " + x.Name + " " + bound.Text(x.Args, most)
	case ToolResult:
		return x.Name + " answered " + bound.Text(x.Text, most)
	case Text:
		if model {
			return "you said " + bound.Text(string(x), most)
		}
		return bound.Text(string(x), most)
	}
	return ""
}

// shrink makes the transcript anew: the summary, and the end of what it stands for, so that the model does not lose its
// thread.
func (c *consultation) shrink(hard bool) {
	tail := c.budget() / 4
	if hard {
		tail = c.budget() / 16
	}
	old := c.recollection
	from := old.keepFrom(tail)
	c.remark.keep = from
	next := &recollection{transcript: newTranscript(old.family, c.names, old.by, shownResult)}
	if hard {
		next.clip, c.remark.clip = shownHard, shownHard
	}
	next.push(Message{Parts: []Part{Text(summaryOpening + c.sum)}}, 0)
	for i, m := range old.messages {
		if from > 0 && old.marks[i].seq >= from {
			next.push(m, old.marks[i].seq)
		}
	}
	if from > 0 && !hard {
		next.open = old.open
	} else {
		next.takeOpen(&old.open, from > 0)
	}
	// The ids in use, and the entries the advice answers for, stay those of the whole transcript: the summary stands
	// for it.
	next.calls, next.events, next.fruitless = old.calls, old.events, old.fruitless
	next.digestOf(old.transcript)
	c.recollection = next
}

// digestOf takes over what a transcript commits to.
func (t *transcript) digestOf(o *transcript) { t.digest, t.count, t.first = o.digest, o.count, o.first }

// takeOpen takes over what answers the model's last message, cut short; without calls, if that message is gone, what
// was told.
func (t *transcript) takeOpen(o *turnOpen, calls bool) {
	t.open = turnOpen{seq: o.seq, results: map[string]ToolResult{}}
	if calls {
		t.open.calls = o.calls
		for id, r := range o.results {
			r.Text = bound.Text(r.Text, shownHard)
			t.open.results[id] = r
		}
	}
	for _, s := range o.texts {
		t.tell(bound.Text(s, shownHard))
	}
}
