package advisor

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/perdure/perdure"
)

// Model is a language model behind a provider; each has a package of its own. What is common to all of them (context,
// summaries, prices, what becomes of a failure) is in LLM; a Model only speaks its provider's protocol.
type Model interface {
	// Name is what the provider calls the model.
	Name() string
	// Family is which provider's replies it takes back unchanged; those of another are shown to it without their Raw.
	Family() string
	// Ask sends one prompt. Text goes to live as it comes, unless live is nil. A *Failure says what kept the provider
	// from answering; the reply that comes with it holds the tokens it counted all the same. An error that wraps
	// perdure.ErrIncapable says that this node has no key. Ask tries once: when to try again is the runtime's matter.
	// It does not change the prompt.
	Ask(ctx context.Context, p *Prompt, live func(text string)) (Reply, error)
}

// Endpoint is where a model is reached, and with which key. The zero Endpoint is that of the provider itself, with the
// key in the environment variable that the provider's own tools read.
type Endpoint struct {
	Key KeyFunc // nil: the provider's environment variable, or no key for a server at another URL
	URL string  // base URL of another server that speaks the provider's protocol
	// what people call the key, such as the variable it is in: for messages, if Key is set
	KeyName string
	Client  *http.Client // nil: the default one
}

// CheckKey says why the key cannot be had, if there is a Key to ask. The models of every provider have this method.
func (e Endpoint) CheckKey() error {
	if e.Key == nil {
		return nil
	}
	_, err := e.Key()
	return err
}

// KeyFunc finds the key of a provider when it is needed. It is never kept in memory entries.
type KeyFunc func() (string, error)

// KeyFromEnv is the key in an environment variable.
func KeyFromEnv(name string) KeyFunc {
	return func() (string, error) {
		if v := os.Getenv(name); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("the environment variable %s is not set", name)
	}
}

// Prompt is what a model is asked.
type Prompt struct {
	System   string
	Messages []Message
	// how many of Messages come first in the next prompt too: worth keeping in the provider's cache
	Stable int
	Tools  []perdure.Spec // under the names the wire allows
	Output int            // the most tokens to answer with; zero: as the provider likes
	Talk   bool           // the answer is to be text: no calls
	Agent  string         // whose prompt it is: those of one agent begin alike
}

// Message is one message of a prompt.
type Message struct {
	Model bool // the model said it; otherwise it is told
	Parts []Part
	Raw   perdure.Data // of what the model said: what its provider must get back unchanged
}

// Part is a part of a message: Text, ToolCall or ToolResult.
type Part interface{ part() }

// Text is plain text.
type Text string

// ToolCall is a call the model made.
type ToolCall struct {
	ID     string
	Name   string
	Args   string       // JSON, if the model wrote JSON
	Opaque perdure.Data // what its provider must get back with it
}

// ToolResult is what came of a call.
type ToolResult struct {
	ID     string
	Name   string
	Text   string
	Failed bool
}

func (Text) part()       {}
func (ToolCall) part()   {}
func (ToolResult) part() {}

// Stop is why a model stopped.
type Stop uint8

// The reasons to stop.
const (
	StopDone    Stop = iota // it said what it had to say
	StopLength              // it ran into the limit of its output
	StopRefused             // it, or a filter of its provider, declined to answer
)

// Reply is what a model answered.
type Reply struct {
	Text    string
	Calls   []ToolCall
	Stop    Stop
	Refusal string // why it declined, if it said
	Tokens  Tokens
	Raw     perdure.Data // what its provider must get back with it
}

// Tokens are the tokens of a reply as the provider counted them.
type Tokens struct {
	In      int64 // the whole prompt
	Out     int64 // with what the model thought
	Cached  int64 // of In, read from the provider's cache
	Written int64 // of In, written to it
}

func (t Tokens) plus(o Tokens) Tokens {
	return Tokens{In: t.In + o.In, Out: t.Out + o.Out, Cached: t.Cached + o.Cached, Written: t.Written + o.Written}
}

// Failure says why a provider did not answer. It becomes the signal of an advice, never the end of an agent.
type Failure struct {
	Signal     perdure.Signal // Throttled, TimedOut, Silent, Failed, or Incapable: not with the key of this node
	RetryAfter time.Duration  // as the provider said
	Overflow   bool           // the prompt was too long for the model
	Note       string         // for people; holds no key
}

func (f *Failure) Error() string { return fmt.Sprintf("%s: %s", f.Signal, f.Note) }

// The bounds of what models are asked and answer.
const (
	// DefaultAnswer is how long a model may take: long answers take minutes.
	DefaultAnswer = 10 * time.Minute
	// DefaultOutput is the tokens a model may answer with where its provider wants a number.
	DefaultOutput = 16_384
	// shortAnswer is the tokens of an answer when the budget has nothing left for one: enough to call a tool, or to say
	// that it is over.
	shortAnswer = 256
	// DefaultContext is the tokens of a prompt for a model whose window is not known; local models are often run with
	// little more.
	DefaultContext = 32_000
	// largestContext is the tokens of a prompt where a larger one is not asked for: beyond it answers become dear and
	// no better.
	largestContext = 200_000
	// maxCalls bounds the calls of one reply: the rest is reported back as refused.
	maxCalls = 64
	// maxCallID bounds a model's own id of a call, which providers bound too; a longer one is replaced.
	maxCallID = 40
	// shownResult is the bytes of one result a model is shown.
	shownResult = 32 << 10
	// shownCurrent is the bytes of the current state it is shown, which may have a hundred lines.
	shownCurrent = 16 << 10
	// shownHard is the bytes of one result it is shown after a prompt was too long.
	shownHard = 2 << 10
	// shownState is the bytes of the agent's state it is shown.
	shownState = 16 << 10
	// maxNote bounds what is repeated of a refusal.
	maxNote = 512
	// maxFruitless is how many replies in a row may come to nothing before the agent waits for an event instead of
	// asking again.
	maxFruitless = 3
	// keptTokens is how much of agents' transcripts is kept between turns, some 64 MiB; the others are read again.
	keptTokens = 20 << 20
)
