package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/advisor/anthropic"
	"github.com/perdure/perdure/advisor/gemini"
	"github.com/perdure/perdure/advisor/openai"
	"github.com/perdure/perdure/internal/dev/wiretest"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/view"
)

// Talk are the settings of a conversation.
type Talk struct {
	Turns    int    `json:"turns"`
	Message  int    `json:"message"`
	Answer   int    `json:"answer"`
	Result   int    `json:"result"`
	Context  int    `json:"context"`
	Provider string `json:"provider"`
}

// expense is what a stretch of work took.
type expense struct {
	wall, cpu      time.Duration
	bytes, objects uint64
}

func (e expense) minus(o expense) expense {
	return expense{e.wall - o.wall, e.cpu - o.cpu, e.bytes - o.bytes, e.objects - o.objects}
}

func (e expense) plus(o expense) expense {
	return expense{e.wall + o.wall, e.cpu + o.cpu, e.bytes + o.bytes, e.objects + o.objects}
}

// expenses reads the meters of this process.
func expenses(began time.Time) expense {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/allocs:objects"}}
	metrics.Read(s)
	return expense{wall: time.Since(began), cpu: CPUTime(), bytes: s[0].Value.Uint64(), objects: s[1].Value.Uint64()}
}

// conversation is one under way.
type conversation struct {
	Talk
	server  *wiretest.Server
	node    *perdure.Node
	id      perdure.AgentID
	rand    *rand.Rand
	began   time.Time
	asking  expense // in this turn
	content int64
}

// words are so many bytes of text that does not repeat.
func (v *conversation) words(n int) string {
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "%x ", v.rand.Uint64())
	}
	v.content += int64(n)
	return b.String()[:n]
}

// reply is what the model does: call the tool, and when that has returned, answer; or summarise, if that is asked for.
func (v *conversation) reply(n int, body map[string]any) wiretest.Turn {
	t := wiretest.Turn{In: 1000, Out: 100}
	last := wiretest.LastText(body)
	switch {
	case strings.Contains(last, "Write the summary"):
		t.Text = []string{v.words(v.Answer)}
	case wiretest.LastIsResult(body):
		text := v.words(v.Answer)
		t.Text = []string{text[:len(text)/2], text[len(text)/2:]}
	default:
		args := fmt.Sprintf(`{"about":"%s"}`, v.words(32))
		v.content += int64(len(args)) - 32
		t.Calls = []wiretest.Call{{ID: fmt.Sprintf("call_%d", n), Name: "look", Args: []string{args}}}
	}
	return t
}

// metered is a model whose asking is measured.
type metered struct {
	advisor.Model
	v *conversation
}

func (m metered) Ask(ctx context.Context, p *advisor.Prompt, live func(string)) (advisor.Reply, error) {
	before := expenses(m.v.began)
	r, err := m.Model.Ask(ctx, p, live)
	m.v.asking = m.v.asking.plus(expenses(m.v.began).minus(before))
	return r, err
}

// begin makes an agent that converses with a server of a provider.
func (t Talk) begin(ctx context.Context, s perdure.Store) (*conversation, error) {
	v := &conversation{Talk: t, rand: rand.New(rand.NewPCG(1, 2)), began: time.Now()}
	key := func() (string, error) { return wiretest.Key, nil }
	var m advisor.Model
	var err error
	switch t.Provider {
	case "anthropic":
		if v.server, err = wiretest.Anthropic(v.reply); err == nil {
			m = anthropic.New("claude-opus-5-5", advisor.Endpoint{URL: v.server.URL, Key: key})
		}
	case "openai":
		if v.server, err = wiretest.OpenAI(v.reply); err == nil {
			m = openai.New("gpt-6-sol", advisor.Endpoint{URL: v.server.URL + "/v1", Key: key})
		}
	default:
		if v.server, err = wiretest.Gemini(v.reply); err == nil {
			m = gemini.New("gemini-2.5-pro", advisor.Endpoint{URL: v.server.URL, Key: key})
		}
	}
	if err != nil {
		return nil, err
	}
	v.server.Forget = true
	type args struct {
		About string `json:"about"`
	}
	look := tool.Func("look", "looks something up", perdure.Read,
		func(context.Context, perdure.Call, args) (string, error) {
			return v.words(t.Result), nil
		})
	signer, err := perdure.GenerateSigner("bench")
	if err != nil {
		return nil, errors.Join(err, v.server.Close())
	}
	set := policy.Default()
	llm := &advisor.LLM{Model: metered{m, v}, Store: s, Tools: advisor.Specs(look), Context: t.Context}
	v.node = &perdure.Node{Store: s, Key: signer, Policy: set, PolicyHash: set.Hash(), Tools: []perdure.Tool{look},
		Advisors: map[string]perdure.Advisor{"": llm}}
	a, err := v.node.Create(ctx, perdure.Genesis{Intent: perdure.Intent{Name: "talk", Goal: "answer what is asked",
		Kind: perdure.ChatKind}, Charter: perdure.Charter{Scope: "bench"}})
	if err != nil {
		return nil, errors.Join(err, v.server.Close())
	}
	v.id = a.ID()
	return v, nil
}

// turn says something to the agent and lets it work until it rests.
func (v *conversation) turn(ctx context.Context) (lap, error) {
	data, err := perdure.DataOf(v.words(v.Message))
	if err != nil {
		return lap{}, err
	}
	before := expenses(v.began)
	v.asking = expense{}
	if _, err := v.node.Tell(ctx, v.id, perdure.Event{Name: "message", By: "bench", Data: data}); err != nil {
		return lap{}, err
	}
	idle, err := v.node.RunAgent(ctx, v.id)
	if err == nil && (idle.Until != 0 || idle.Person || idle.Needs != "") {
		err = fmt.Errorf("the conversation stopped: %s", view.Why(idle))
	}
	return lap{all: expenses(v.began).minus(before), asking: v.asking}, err
}

// Run converses on the store of a benchmark. At the end another agent begins to talk, and the two take turns, so that
// whatever else the machine does hits both: the first turns of the one are compared with the last of the other.
func (t Talk) Run(ctx context.Context, p *Place, done func(int)) (*TalkResult, error) {
	s, err := p.Open(ctx)
	if err != nil {
		return nil, err
	}
	r := &TalkResult{Talk: t}
	size, err := DiskUse(p.Dir)
	if err == nil {
		err = r.converse(ctx, s, done)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	grown, err := DiskUse(p.Dir)
	if err != nil {
		return nil, err
	}
	r.File = grown - size
	r.MemoryPer, r.FilePer = float64(r.Memory)/float64(r.Content), float64(r.File)/float64(r.Content)
	return r, nil
}

// converse has both conversations and counts what they came to.
func (r *TalkResult) converse(ctx context.Context, s perdure.Store, done func(int)) (err error) {
	old, err := r.begin(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, old.server.Close()) }()
	for i := range r.Turns - TalkWindow {
		if _, err := old.turn(ctx); err != nil {
			return err
		}
		done(i + 1)
	}
	r.Seconds = time.Since(old.began).Seconds()
	young, err := r.begin(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, young.server.Close()) }()
	var early, late []lap
	for i := range TalkWindow {
		first, err := young.turn(ctx)
		if err != nil {
			return err
		}
		last, err := old.turn(ctx)
		if err != nil {
			return err
		}
		early, late = append(early, first), append(late, last)
		done(r.Turns - TalkWindow + i + 1)
	}
	r.Content, r.Costs = old.content+young.content, costsOf(early, late)
	return errors.Join(r.count(ctx, s, old.id), r.count(ctx, s, young.id))
}

// count adds up the entries of the agent.
func (r *TalkResult) count(ctx context.Context, s perdure.Store, id perdure.AgentID) error {
	for e, err := range perdure.Memory(ctx, s, id) {
		if err != nil {
			return err
		}
		b, err := e.MarshalBinary()
		if err != nil {
			return err
		}
		r.Entries++
		r.Memory += int64(len(b))
		if a, ok := e.Content().(perdure.Advice); ok && a.Summary != "" {
			r.Summaries++
		}
	}
	return nil
}
