package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/dev/bench"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
)

func benchCommand() *cobra.Command {
	c := command("bench", nil)
	c.AddCommand(benchCodecCommand(), benchStepsCommand(), benchDurableCommand(), benchResumeCommand(),
		benchDormantCommand(),
		benchAppendCommand(), benchCapsuleCommand(), benchTalkCommand(), benchPolicyCommand(),
		benchSearchCommand(), benchServeCommand())
	return c
}

// benchmark is one benchmark, and where it keeps its store, as its flags say.
type benchmark struct {
	*cobra.Command
	bench.Place
	checks []func() error
	bar    *term.Progress
}

// measured is what a benchmark came to.
type measured interface{ Tables() []bench.Table }

// newBench is a benchmark whose store is where --store says; one that needs none has no such flag.
func newBench(words string, stored bool) *benchmark {
	b := &benchmark{Command: command(words, cobra.NoArgs)}
	if stored {
		b.Flags().StringVar(&b.Folder, "store", "",
			"create the store in a new folder below this one, in a new schema of postgres://…, in "+
				"new streams of nats://…, or mem: "+
				"(default: the temporary folder)")
		b.check(func() error { return b.Check() })
	}
	return b
}

// check adds what is refused before anything is measured.
func (b *benchmark) check(refuse func() error) { b.checks = append(b.checks, refuse) }

// onDisk refuses a store in memory, for a reason.
func (b *benchmark) onDisk(why string) *benchmark {
	b.check(func() error {
		if b.InMemory() {
			return errors.New(why + "; name a folder with --store")
		}
		if b.OnServer() {
			return errors.New("this workload measures a file; name a folder with --store")
		}
		return nil
	})
	return b
}

// syncFlag adds --sync.
func (b *benchmark) syncFlag() *benchmark {
	sync := &choice{sqlite.Full.String(), []string{sqlite.Full.String(), sqlite.Normal.String()}}
	choiceFlag(b.Command, sync, "sync", "what an acknowledged write survives: full a power cut, normal only kill -9")
	b.check(func() (err error) {
		b.Sync, err = sqlite.ParseSync(sync.value)
		return err
	})
	return b
}

// count adds a flag for a number that is to be at least so large.
func (b *benchmark) count(to *int, name string, value, least int, usage string) {
	b.Flags().IntVar(to, name, value, usage)
	b.check(func() error { return atLeast(name, least, *to) })
}

// counts is count of a flag for several numbers.
func (b *benchmark) counts(to *[]int, name string, value []int, usage string) {
	b.Flags().IntSliceVar(to, name, value, usage)
	b.check(func() error {
		if len(*to) == 0 {
			return fmt.Errorf("--%s: name at least one number", name)
		}
		return atLeast(name, 1, *to...)
	})
}

func atLeast(name string, least int, all ...int) error {
	for _, n := range all {
		if n < least {
			return fmt.Errorf("--%s %d: want at least %d", name, n, least)
		}
	}
	return nil
}

// bytes adds a flag for the bytes that an entry is to hold.
func (b *benchmark) bytes(to *int, name string, value, least int, usage string) {
	const most = perdure.MaxBody - 4<<10 // the rest of the body needs room, too
	b.count(to, name, value, least, usage)
	b.check(func() error {
		if *to > most {
			return fmt.Errorf("--%s %d: want %d to %d bytes", name, *to, least, most)
		}
		return nil
	})
}

// duration adds a flag for how long something is measured.
func (b *benchmark) duration(to *time.Duration, value time.Duration, usage string) {
	b.Flags().DurationVar(to, "time", value, usage)
	b.check(func() error {
		if *to <= 0 {
			return errors.New("--time: want more than zero")
		}
		return nil
	})
}

// hidden adds a flag with which a benchmark calls itself.
func (b *benchmark) hidden(names ...string) {
	for _, name := range names {
		if err := b.Flags().MarkHidden(name); err != nil {
			panic(err) // the flag was added before
		}
	}
}

// done shows how far it has come.
func (b *benchmark) done(what string, n, of int) {
	if b.bar == nil || !b.bar.Is(what) {
		b.bar = term.NewProgress(b.ErrOrStderr(), what, int64(of))
	}
	if b.bar.Of(int64(n), int64(of)); n >= of {
		b.bar.End()
	}
}

// measures is the benchmark, which prints what run came to.
func (b *benchmark) measures(run func() (measured, error)) *cobra.Command {
	b.RunE = func(c *cobra.Command, _ []string) error {
		for _, refuse := range b.checks {
			if err := refuse(); err != nil {
				return perdure.Invalid(err)
			}
		}
		r, err := run()
		if b.bar != nil {
			b.bar.End()
		}
		if err != nil || r == nil {
			return err
		}
		return writeReport(c, r)
	}
	return b.Command
}

// lines measures each line in a folder of its own.
func (b *benchmark) lines(n int, line func(i int) (*bench.Figures, error)) (measured, error) {
	var run bench.Run
	for i := range n {
		err := b.With(func() error {
			f, err := line(i)
			if err == nil {
				b.Label(f)
				run = append(run, f)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return run, nil
}

// writeReport prints what a benchmark came to: tables and notes, or JSON.
func writeReport(c *cobra.Command, r measured) error {
	w := c.OutOrStdout()
	if jsonFlag(c) {
		return term.WriteJSON(w, r)
	}
	for i, t := range r.Tables() {
		before, after := "", ""
		if i > 0 {
			before = "\n"
		}
		if t.Title != "" {
			before += t.Title + "\n\n"
		}
		for i, note := range t.Notes {
			if i == 0 {
				after = "\n"
			}
			after += note + "\n"
		}
		_, err := io.WriteString(w, before)
		if err == nil {
			err = (&term.Table{Head: t.Head, Rows: t.Rows}).Write(w)
		}
		if err == nil {
			_, err = io.WriteString(w, after)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func benchCodecCommand() *cobra.Command {
	b := newBench("bench codec", false)
	var set bench.Codec
	b.count(&set.Entries, "entries", 100_000, bench.MinEntries, "entries in the memories that are verified and folded")
	b.duration(&set.Each, time.Second/2, "how long to measure each figure of a single entry")
	return b.measures(func() (measured, error) { return set.Run(b.Context()) })
}

func benchPolicyCommand() *cobra.Command {
	b := newBench("bench policy", false)
	var each time.Duration
	b.duration(&each, time.Second, "how long to measure each figure")
	return b.measures(func() (measured, error) { return bench.Policy(b.Context(), each) })
}

func benchServeCommand() *cobra.Command {
	b := newBench("bench serve", true).onDisk("a home is in a folder")
	s := bench.Serve{Done: b.done}
	b.count(&s.Clients, "clients", 64, 1, "clients at once")
	b.count(&s.Agents, "agents", 256, 1, "agents that events are spread over")
	b.count(&s.Each, "each", 200, 1, "requests of each client, of each kind")
	b.bytes(&s.Payload, "payload", 1024, 0, "bytes of the data of an event")
	b.count(&s.Readers, "readers", 1000, 1, "readers of a stream")
	b.count(&s.Events, "events", 100, 1, "events that each reader gets")
	b.count(&s.Rounds, "rounds", 3, 1, "rounds, in which server and bare handler take turns")
	return b.measures(func() (r measured, err error) {
		err = b.With(func() (err error) {
			r, err = s.Run(b.Context(), &b.Place)
			return err
		})
		return r, err
	})
}

func benchSearchCommand() *cobra.Command {
	b := newBench("bench search", false)
	s := bench.Search{Done: b.done}
	b.count(&s.Documents, "documents", 10_000, 1, "documents in a workspace")
	b.count(&s.Turns, "turns", 100_000, 100, "turns of transcripts, of 100 agents")
	b.count(&s.Questions, "questions", 200, 1, "how many questions are asked")
	return b.measures(func() (measured, error) { return s.Run(b.Context()) })
}

func benchTalkCommand() *cobra.Command {
	b := newBench("bench talk", true).onDisk("what a store in memory takes says nothing")
	var t bench.Talk
	b.count(&t.Turns, "turns", 1000, 2*bench.TalkWindow, "turns of the conversation")
	b.bytes(&t.Message, "message", 500, 1, "bytes of each message to the model")
	b.bytes(&t.Answer, "answer", 2000, 1, "bytes of each answer")
	b.bytes(&t.Result, "result", 16_000, 1, "bytes each tool call returns")
	b.count(&t.Context, "context", 64_000, 1, "prompt tokens beyond which the transcript is summarised")
	provider := &choice{"anthropic", []string{"anthropic", "openai", "gemini"}}
	choiceFlag(b.Command, provider, "provider", "whose protocol is spoken")
	return b.measures(func() (r measured, err error) {
		t.Provider = provider.value
		err = b.With(func() (err error) {
			r, err = t.Run(b.Context(), &b.Place, func(n int) { b.done("turns", n, t.Turns) })
			return err
		})
		return r, err
	})
}

func benchCapsuleCommand() *cobra.Command {
	b := newBench("bench capsule", true).onDisk("commands are measured in processes of their own")
	var set bench.Capsules
	b.count(&set.Entries, "entries", 100_000, 0, "entries of 1 KiB of the first agent; 0 leaves it out")
	blobs := b.Flags().String("blobs", "1GiB", "bytes in bodies of 1 MiB of the second agent; 0 leaves it out")
	b.count(&set.Rounds, "rounds", 2, 1,
		"how often each figure is measured; the fastest time and the highest memory count")
	child := b.Flags().StringArray("measure", nil, "measure this command, a word each")
	b.hidden("measure")
	b.check(func() (err error) {
		if set.Blobs, err = view.ParseBytes(*blobs); err != nil {
			return fmt.Errorf("--blobs: %w", err)
		}
		if set.Entries == 0 && set.Blobs == 0 {
			return errors.New("nothing is left to measure; name --entries or --blobs")
		}
		return nil
	})
	return b.measures(func() (measured, error) {
		if len(*child) > 0 {
			return nil, bench.Measure(b.OutOrStdout(), func() error {
				root := newRoot()
				root.SetArgs(*child)
				root.SetOut(io.Discard)
				root.SetErr(b.ErrOrStderr())
				return root.ExecuteContext(b.Context())
			})
		}
		set.Done = b.done
		return set.Run(b.Context(), &b.Place)
	})
}

func benchStepsCommand() *cobra.Command {
	b := newBench("bench steps", true).syncFlag()
	var set bench.Steps
	b.count(&set.Agents, "agents", 1, 1, "agents at work at once")
	b.count(&set.Steps, "steps", 2000, 1, "steps of each agent")
	b.bytes(&set.Payload, "payload", 1024, 0, "bytes each step returns")
	effect := &choice{perdure.Read.String(), perdure.Effect(0).CanonNames()[1:]}
	choiceFlag(b.Command, effect, "effect", "class of the step: once takes two commits, the others one")
	b.check(func() (err error) {
		set.Effect, err = view.ParseName[perdure.Effect]("--effect", effect.value)
		return err
	})
	return b.measures(func() (measured, error) {
		return b.lines(1, func(int) (*bench.Figures, error) {
			set.Dir, set.Done = b.Dir, func(n int) { b.done("steps", n, set.Agents*set.Steps) }
			return set.Run(b.Context(), b.Open)
		})
	})
}

func benchDurableCommand() *cobra.Command {
	b := newBench("bench durable", true).syncFlag()
	var one bench.Durable
	all := bench.Contest{Place: &b.Place}
	b.count(&one.Agents, "agents", 1, 1, "agents at work at once")
	b.count(&one.Steps, "steps", 2000, 1, "steps of each agent")
	b.bytes(&one.Payload, "payload", 1024, 0, "bytes each step returns")
	b.count(&all.Rounds, "rounds", 3, 1, "runs of each line")
	b.Flags().StringVar(&all.Peer, "peer", "", "a program to measure beside this one")
	single := func() bool {
		given := b.Flags().Changed
		return given("agents") || given("steps") || given("sync")
	}
	b.check(func() error {
		if single() && all.Peer != "" {
			return errors.New("--peer is measured with the settings of all lines: leave out --agents, --steps and " +
				"--sync")
		}
		return nil
	})
	return b.measures(func() (measured, error) {
		if single() || b.InMemory() {
			return b.lines(1, func(int) (*bench.Figures, error) {
				one.Dir = b.Dir
				return one.Run(b.Context(), b.Open)
			})
		}
		all.Payload, all.Done = one.Payload, func(n, of int) { b.done("runs", n, of) }
		return all.Run(b.Context())
	})
}

func benchResumeCommand() *cobra.Command {
	b := newBench("bench resume", true).onDisk("a store in memory dies with its process")
	var histories []int
	var set bench.Kills
	b.counts(&histories, "history", []int{100, 1000, 5000}, "steps in the agent's past; each number is one line")
	b.bytes(&set.Payload, "payload", 1024, 0, "bytes each step returns")
	role := b.Flags().String("role", "", "which process this is")
	agent := b.Flags().String("agent", "", "the agent to go on with")
	b.hidden("role", "agent")
	return b.measures(func() (measured, error) {
		if *role != "" {
			b.Dir, set.History = b.Folder, histories[0]
			return nil, set.Part(b.Context(), &b.Place, *role, *agent, b.OutOrStdout())
		}
		return b.lines(len(histories), func(i int) (*bench.Figures, error) {
			set.History = histories[i]
			return set.Run(b.Context(), &b.Place)
		})
	})
}

func benchDormantCommand() *cobra.Command {
	b := newBench("bench dormant", true).onDisk("a store in memory is not there for a new process")
	var set bench.Dormant
	b.count(&set.Agents, "agents", 10_000, 1, "number of dormant agents")
	return b.measures(func() (measured, error) {
		return b.lines(1, func(int) (*bench.Figures, error) {
			set.Dir, set.Done = b.Dir, func(n int) { b.done("agents", n, set.Agents) }
			return set.Run(b.Context(), b.Open)
		})
	})
}

const (
	// appendTotal is about how many appends each line of the append benchmark makes.
	appendTotal = 20_000
	// wideAgents is how many agents the appends are spread over with --wide.
	wideAgents = 100_000
)

func benchAppendCommand() *cobra.Command {
	b := newBench("bench append", true).syncFlag()
	var writers []int
	var set bench.Appends
	b.counts(&writers, "writers", []int{1, 16, 256}, "writers at once; each number is one line")
	b.Flags().IntVar(&set.Each, "each", 0, fmt.Sprintf("appends of each writer (default: about %d in all)",
		appendTotal))
	b.bytes(&set.Payload, "payload", 1024, 0, "bytes of data in each entry")
	b.check(func() error {
		if b.Flags().Changed("each") {
			return atLeast("each", 1, set.Each)
		}
		return nil
	})
	wide := b.Flags().Bool("wide", false, fmt.Sprintf("spread the appends over %d agents", wideAgents))
	return b.measures(func() (measured, error) {
		if *wide {
			set.Agents = wideAgents
		}
		return b.lines(len(writers), func(i int) (*bench.Figures, error) {
			one := set
			one.Writers, one.Dir, one.Sync = writers[i], b.Dir, b.Sync.String()
			if one.Each == 0 {
				one.Each = max(appendTotal/one.Writers, 20)
			}
			return one.Run(b.Context(), b.Open, b.Baseline())
		})
	})
}
