package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Workloads are the benchmarks there are, each with parameters of its own.
func Workloads(h *Host) []*Workload {
	return []*Workload{codecLoad(), stepsLoad(h), durableLoad(h), resumeLoad(h), dormantLoad(h), appendLoad(h),
		capsuleLoads(h), talkLoad(h), policyLoad(), searchLoad(h), serveLoad(h)}
}

func codecLoad() *Workload {
	set := Codec{Entries: 100_000, Each: time.Second / 2}
	return &Workload{Name: "codec", Params: []Param{
		{Name: "entries", To: &set.Entries, Least: MinEntries,
			Usage: "entries in the memories that are verified and folded"},
		{Name: "time", To: &set.Each, Usage: "how long to measure each figure of a single entry"},
	}, Run: func(ctx context.Context) (Measured, error) { return set.Run(ctx) }}
}

func policyLoad() *Workload {
	each := time.Second
	return &Workload{Name: "policy",
		Params: []Param{{Name: "time", To: &each, Usage: "how long to measure each figure"}},
		Run:    func(ctx context.Context) (Measured, error) { return Policy(ctx, each) }}
}

func serveLoad(h *Host) *Workload {
	p, s := new(Place), Serve{Done: h.Done, Clients: 64, Agents: 256, Each: 200, Payload: 1024, Readers: 1000,
		Events: 100, Rounds: 3}
	return &Workload{Name: "serve", Place: p, OnDisk: "a home is in a folder", Params: []Param{
		{Name: "clients", To: &s.Clients, Least: 1, Usage: "clients at once"},
		{Name: "agents", To: &s.Agents, Least: 1, Usage: "agents that events are spread over"},
		{Name: "each", To: &s.Each, Least: 1, Usage: "requests of each client, of each kind"},
		payload(&s.Payload, "payload", 0, "bytes of the data of an event"),
		{Name: "readers", To: &s.Readers, Least: 1, Usage: "readers of a stream"},
		{Name: "events", To: &s.Events, Least: 1, Usage: "events that each reader gets"},
		{Name: "rounds", To: &s.Rounds, Least: 1, Usage: "rounds, in which server and bare handler take turns"},
	}, Run: func(ctx context.Context) (Measured, error) {
		return in(p, func() (*ServeResult, error) { return s.Run(ctx, p) })
	}}
}

func searchLoad(h *Host) *Workload {
	s := Search{Done: h.Done, Documents: 10_000, Turns: 100_000, Questions: 200}
	return &Workload{Name: "search", Params: []Param{
		{Name: "documents", To: &s.Documents, Least: 1, Usage: "documents in a workspace"},
		{Name: "turns", To: &s.Turns, Least: 100, Usage: "turns of transcripts, of 100 agents"},
		{Name: "questions", To: &s.Questions, Least: 1, Usage: "how many questions are asked"},
	}, Run: func(ctx context.Context) (Measured, error) { return s.Run(ctx) }}
}

func talkLoad(h *Host) *Workload {
	p, t := new(Place), Talk{Turns: 1000, Message: 500, Answer: 2000, Result: 16_000, Context: 64_000,
		Provider: "anthropic"}
	return &Workload{Name: "talk", Place: p, OnDisk: "what a store in memory takes says nothing", Params: []Param{
		{Name: "turns", To: &t.Turns, Least: 2 * TalkWindow, Usage: "turns of the conversation"},
		payload(&t.Message, "message", 1, "bytes of each message to the model"),
		payload(&t.Answer, "answer", 1, "bytes of each answer"),
		payload(&t.Result, "result", 1, "bytes each tool call returns"),
		{Name: "context", To: &t.Context, Least: 1,
			Usage: "prompt tokens beyond which the transcript is summarised"},
		{Name: "provider", To: &t.Provider, Of: []string{"anthropic", "openai", "gemini"},
			Usage: "whose protocol is spoken"},
	}, Run: func(ctx context.Context) (Measured, error) {
		return in(p, func() (*TalkResult, error) {
			return t.Run(ctx, p, func(n int) { h.Done("turns", n, t.Turns) })
		})
	}}
}

func capsuleLoads(h *Host) *Workload {
	p, set := new(Place), Capsules{Entries: 100_000, Rounds: 2, Done: h.Done}
	blobs, child := "1GiB", []string(nil)
	return &Workload{Name: "capsule", Place: p, OnDisk: "commands are measured in processes of their own",
		Params: []Param{
			{Name: "entries", To: &set.Entries, Usage: "entries of 1 KiB of the first agent; 0 leaves it out"},
			{Name: "blobs", To: &blobs, Usage: "bytes in bodies of 1 MiB of the second agent; 0 leaves it out"},
			{Name: "rounds", To: &set.Rounds, Least: 1,
				Usage: "how often each figure is measured; the fastest time and the highest memory count"},
			{Name: "measure", To: &child, Hidden: true, Usage: "measure this command, a word each"},
		}, Refuse: func() (err error) {
			if set.Blobs, err = view.ParseBytes(blobs); err != nil {
				return fmt.Errorf("--blobs: %w", err)
			}
			if set.Entries == 0 && set.Blobs == 0 {
				return errors.New("nothing is left to measure; name --entries or --blobs")
			}
			return nil
		}, Run: func(ctx context.Context) (Measured, error) {
			if len(child) > 0 {
				return nil, Measure(h.Out, func() error { return h.Do(ctx, child) })
			}
			return set.Run(ctx, p)
		}}
}

func stepsLoad(h *Host) *Workload {
	p, set, effect := new(Place), Steps{Agents: 1, Steps: 2000, Payload: 1024}, perdure.Read.String()
	nodes := []int{0}
	w := &Workload{Name: "steps", Place: p, Params: []Param{
		{Name: "agents", To: &set.Agents, Least: 1, Usage: "agents at work at once"},
		{Name: "steps", To: &set.Steps, Least: 1, Usage: "steps of each agent"},
		payload(&set.Payload, "payload", 0, "bytes each step returns"),
		{Name: "effect", To: &effect, Of: perdure.Effect(0).CanonNames()[1:],
			Usage: "class of the step: once takes two commits, the others one"},
		{Name: "nodes", To: &nodes, Usage: "nodes that share the store and claim the agents, on a server only; each " +
			"number is one line, and with 0 none do, and nothing is claimed"},
	}, Refuse: func() (err error) {
		if slices.Max(nodes) > 0 && !p.OnServer() {
			return errors.New("--nodes: want --store postgres://… or nats://…")
		}
		set.Effect, err = view.ParseName[perdure.Effect]("--effect", effect)
		return err
	}, Run: func(ctx context.Context) (Measured, error) {
		return p.lines(len(nodes), func(i int) (*Figures, error) {
			set.Dir, set.Done = p.Dir, func(n int) { h.Done("steps", n, set.Agents*set.Steps) }
			set.Nodes = nodes[i]
			return set.Run(ctx, p.Open)
		})
	}}
	return w.synced()
}

func durableLoad(h *Host) *Workload {
	p, one := new(Place), Durable{Agents: 1, Steps: 2000, Payload: 1024}
	all := Contest{Place: p, Rounds: 3}
	single := func() bool { return h.Given("agents") || h.Given("steps") || h.Given("sync") }
	w := &Workload{Name: "durable", Place: p, Params: []Param{
		{Name: "agents", To: &one.Agents, Least: 1, Usage: "agents at work at once"},
		{Name: "steps", To: &one.Steps, Least: 1, Usage: "steps of each agent"},
		payload(&one.Payload, "payload", 0, "bytes each step returns"),
		{Name: "rounds", To: &all.Rounds, Least: 1, Usage: "runs of each line"},
		{Name: "peer", To: &all.Peer, Usage: "a program to measure beside this one"},
	}, Refuse: func() error {
		if single() && all.Peer != "" {
			return errors.New("--peer is measured with the settings of all lines: leave out --agents, --steps and " +
				"--sync")
		}
		return nil
	}, Run: func(ctx context.Context) (Measured, error) {
		if single() || p.InMemory() {
			return p.lines(1, func(int) (*Figures, error) {
				one.Dir = p.Dir
				return one.Run(ctx, p.Open)
			})
		}
		all.Payload, all.Done = one.Payload, func(n, of int) { h.Done("runs", n, of) }
		return all.Run(ctx)
	}}
	return w.synced()
}

func resumeLoad(h *Host) *Workload {
	p, histories, set := new(Place), []int{100, 1000, 5000}, Kills{Payload: 1024}
	var role, agent string
	return &Workload{Name: "resume", Place: p, OnDisk: "a store in memory dies with its process", Params: []Param{
		{Name: "history", To: &histories, Least: 1, Usage: "steps in the agent's past; each number is one line"},
		payload(&set.Payload, "payload", 0, "bytes each step returns"),
		{Name: "role", To: &role, Hidden: true, Usage: "which process this is"},
		{Name: "agent", To: &agent, Hidden: true, Usage: "the agent to go on with"},
	}, Run: func(ctx context.Context) (Measured, error) {
		if role != "" {
			p.Dir, set.History = p.Folder, histories[0]
			return nil, set.Part(ctx, p, role, agent, h.Out)
		}
		return p.lines(len(histories), func(i int) (*Figures, error) {
			set.History = histories[i]
			return set.Run(ctx, p)
		})
	}}
}

func dormantLoad(h *Host) *Workload {
	p, set, role := new(Place), Dormant{Agents: 10_000, Rest: 5 * time.Second}, ""
	owner := ""
	return &Workload{Name: "dormant", Place: p, Params: []Param{
		{Name: "agents", To: &set.Agents, Least: 1, Usage: "number of dormant agents"},
		{Name: "rest", To: &set.Rest, Usage: "how long to watch an idle node"},
		{Name: "role", To: &role, Hidden: true, Usage: "which process this is"},
		{Name: "owner", To: &owner, Hidden: true, Usage: "whose agents sleep"},
	}, Refuse: func() error {
		if p.InMemory() {
			return errors.New("a store in memory is not there for a new process; name a folder with --store")
		}
		return nil
	}, Run: func(ctx context.Context) (Measured, error) {
		if role != "" {
			p.enter()
			return nil, rest(ctx, p.Open, owner, set.Rest, h.Out)
		}
		return p.lines(1, func(int) (*Figures, error) {
			set.Done = func(n int) { h.Done("agents", n, set.Agents) }
			return set.Run(ctx, p)
		})
	}}
}

const (
	// appendTotal is about how many appends each line of the append benchmark makes.
	appendTotal = 20_000
	// wideAgents is how many agents the appends are spread over with --wide.
	wideAgents = 100_000
)

func appendLoad(h *Host) *Workload {
	p, writers, set, wide := new(Place), []int{1, 16, 256}, Appends{Payload: 1024}, false
	turns, also := Turns{Rounds: 3}, []string(nil)
	w := &Workload{Name: "append", Place: p, Params: []Param{
		{Name: "writers", To: &writers, Least: 1, Usage: "writers at once; each number is one line"},
		{Name: "each", To: &set.Each,
			Usage: fmt.Sprintf("appends of each writer (default: about %d in all)", appendTotal)},
		payload(&set.Payload, "payload", 0, "bytes of data in each entry"),
		{Name: "wide", To: &wide, Usage: fmt.Sprintf("spread the appends over %d agents", wideAgents)},
		{Name: "rounds", To: &turns.Rounds, Least: 1,
			Usage: "rounds in which stores and floors take turns; medians count"},
		{Name: "beside", To: &also, Usage: "measure this store, too, in the same run (as --store; may be given again)"},
	}, Refuse: func() error {
		if h.Given("each") && set.Each < 1 {
			return fmt.Errorf("--each %d: want at least 1", set.Each)
		}
		turns.Places = []*Place{p}
		for _, folder := range also {
			other := &Place{Folder: folder, Sync: p.Sync}
			if err := other.Check(); err != nil {
				return err
			}
			turns.Places = append(turns.Places, other)
		}
		return nil
	}, Run: func(ctx context.Context) (Measured, error) {
		if wide {
			set.Agents = wideAgents
		}
		for _, n := range writers {
			one := set
			if one.Writers = n; one.Each == 0 {
				one.Each = max(appendTotal/n, 20)
			}
			turns.Lines = append(turns.Lines, one)
		}
		turns.Done = func(n, of int) { h.Done("runs", n, of) }
		return turns.Run(ctx)
	}}
	return w.synced()
}
