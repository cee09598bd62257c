package perdure

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/canon"
)

// Data is a value nobody gave a schema: tool arguments, results, event data. It is held as its canonical bytes. DataOf
// makes it of a Go value, Decode sets a Go value from it, and it prints and marshals as JSON.
type Data = canon.Data

// Body is the content of an entry: a Genesis, Advice, Decision, Outcome, Event or Snapshot. All are values, never
// pointers: a pointer to one compiles in a type switch, is never met there, and is refused when it is written. The same
// goes for an Action, a Trigger and a Notice.
type Body interface{ kind() Kind }

// Kind is the kind of an entry.
type Kind uint8

// Wire numbers are frozen. Do NOT reorder.
const (
	_            Kind = iota
	KindGenesis       // intent and charter
	KindAdvice        // cognition proposed
	KindDecision      // authority decided
	KindOutcome       // execution acted
	KindEvent         // the agent was told something
	KindSnapshot      // the fold so far
)

// CanonNames are the names of the wire numbers.
func (Kind) CanonNames() []string {
	return []string{"", "genesis", "advice", "decision", "outcome", "event", "snapshot"}
}

func (k Kind) String() string { return canon.NameOf(k) }

// MarshalText writes the name.
func (k Kind) MarshalText() ([]byte, error) { return canon.MarshalName(k, "kind") }

// UnmarshalText reads a name.
func (k *Kind) UnmarshalText(b []byte) error { return canon.UnmarshalName(k, "kind", b) }

func (Genesis) kind() Kind  { return KindGenesis }
func (Advice) kind() Kind   { return KindAdvice }
func (Decision) kind() Kind { return KindDecision }
func (Outcome) kind() Kind  { return KindOutcome }
func (Event) kind() Kind    { return KindEvent }
func (Snapshot) kind() Kind { return KindSnapshot }

// Advice is what an advisor proposed. It changes nothing by itself.
type Advice struct {
	Advisor    string   `canon:"1,advisor,omitzero"`
	Model      string   `canon:"2,model,omitzero"`
	Actions    []Action `canon:"3,actions,omitzero"` // in order
	Text       string   `canon:"4,text,omitzero,verbatim"`
	Usage      *Usage   `canon:"5,usage,optional"`
	Shown      *Shown   `canon:"6,shown,optional"`
	Seen       []Hash   `canon:"7,seen,omitzero"`             // the events it was shown, also any that left the inbox
	Summary    string   `canon:"8,summary,omitzero,verbatim"` // stands for the transcript before this entry
	Signal     Signal   `canon:"9,signal,omitzero"`           // how asking ended, when not ok
	RetryAfter int64    `canon:"10,retry_after_ms,omitzero"`
	Raw        Data     `canon:"11,raw,omitzero"`     // what the provider must get back unchanged
	Took       int64    `canon:"12,took_us,omitzero"` // how long asking took, in microseconds
	Basis      *Basis   `canon:"13,basis,optional"`   // what the proposals rest on
	Epoch      int64    `canon:"14,epoch,omitzero"`   // of the seat, if the store it was asked in had that
	// it was asked for in a copy: what a copy thinks is not acted on elsewhere
	Apart bool `canon:"15,apart,omitzero"`
	// it follows from all of memory: no body is dropped before the agent has ended
	Replays bool `canon:"16,replays,omitzero"`
}

// Usage is what an advice cost.
type Usage struct {
	In     int64 `canon:"1,in,omitzero"` // tokens
	Out    int64 `canon:"2,out,omitzero"`
	Cached int64 `canon:"3,cached,omitzero"` // of In, read from the provider's cache
	Cost   int64 `canon:"4,cost,omitzero"`   // millionths of a US dollar
}

// Shown commits to what an advisor was shown without storing it again: the digest of the hashes of the entries shown,
// in order.
type Shown struct {
	From   Hash  `canon:"1,from,omitzero"` // the first entry of the transcript
	Count  int64 `canon:"2,count,omitzero"`
	Digest Hash  `canon:"3,digest,omitzero"`
}

// Answer is what policy says of an action. The zero Answer denies.
type Answer uint8

// Wire numbers are frozen. Do NOT reorder.
const (
	Deny Answer = iota
	Ask
	Allow
)

// CanonNames are the names of the wire numbers.
func (Answer) CanonNames() []string { return []string{"deny", "ask", "allow"} }

func (a Answer) String() string { return canon.NameOf(a) }

// MarshalText writes the name.
func (a Answer) MarshalText() ([]byte, error) { return canon.MarshalName(a, "answer") }

// UnmarshalText reads a name.
func (a *Answer) UnmarshalText(b []byte) error { return canon.UnmarshalName(a, "answer", b) }

// Verdict is policy's answer and why. The zero Verdict denies.
type Verdict struct {
	Answer  Answer   `canon:"1,answer"`                   // deny, ask or allow
	Rules   []string `canon:"2,rules,omitzero"`           // the rules that decided
	Policy  Hash     `canon:"3,policy,omitzero"`          // the policy set
	Facts   Hash     `canon:"4,facts,omitzero"`           // what it was decided on
	Reason  string   `canon:"5,reason,omitzero,verbatim"` // for people
	Quorum  int64    `canon:"6,quorum,omitzero"`          // how many must approve; zero is one
	Expires Time     `canon:"7,expires,omitzero"`         // when an ask lapses into a denial
	Asked   []string `canon:"8,asked,omitzero"`           // whom to ask, in the words of the policy

	Escalate []Escalation `canon:"9,escalate,omitzero"` // whom else to ask when nobody answers, earliest first
}

// Escalation is whom else to ask about a question that has no answer at a time.
type Escalation struct {
	At    Time     `canon:"1,at"`    // when, if there is no answer by then
	Asked []string `canon:"2,asked"` // whom, in the words of the policy
}

// Decision is what authority decided about one action.
type Decision struct {
	Advice   Hash    `canon:"1,advice,omitzero"` // the advice it answers
	Index    int64   `canon:"2,index,omitzero"`  // which of its actions
	Action   Action  `canon:"3,action,omitzero"` // the action, when it is not that proposal word for word
	Verdict  Verdict `canon:"4,verdict"`
	Effect   Effect  `canon:"5,effect,omitzero"`   // the class of an Execute
	Deadline Time    `canon:"6,deadline,omitzero"` // when silence becomes a signal
	Reserve  *Spend  `canon:"7,reserve,optional"`  // held until the outcome settles it
	// the approvals it uses up, and refusals by people who were not asked
	Approvals []Hash `canon:"8,approvals,omitzero"`
	// of the effect, the same for every attempt at it; none: this decision's own name
	Key   Hash   `canon:"9,key,omitzero"`
	Child []byte `canon:"10,child,omitzero"` // the signed genesis entry of a delegated agent
}

// Outcome is how an allowed action ended.
type Outcome struct {
	Decision   Hash            `canon:"1,decision"`
	Signal     Signal          `canon:"2,signal"`
	Latency    int64           `canon:"3,latency_ms,omitzero"` // how long it took, in whole milliseconds; see Elapsed
	Result     Data            `canon:"4,result,omitzero"`
	Spend      *Spend          `canon:"5,spend,optional"`
	Note       string          `canon:"6,note,omitzero,verbatim"`
	RetryAfter int64           `canon:"7,retry_after_ms,omitzero"`
	Set        map[string]Data `canon:"8,set,omitzero"`         // what it changes in the agent's state
	Taint      bool            `canon:"9,taint,omitzero"`       // the result is text from somebody not trusted
	Reconciled bool            `canon:"10,reconciled,omitzero"` // found out by looking at the world afterwards
	Took       int64           `canon:"11,took_us,omitzero"`    // how long it took, in microseconds
}

// Elapsed is how long the effect took, as far as that is recorded.
func (o *Outcome) Elapsed() time.Duration {
	if o.Took > 0 {
		return time.Duration(o.Took) * time.Microsecond
	}
	return time.Duration(o.Latency) * time.Millisecond
}

// Event is something the agent was told.
type Event struct {
	Name   string          `canon:"1,name"`
	Data   Data            `canon:"2,data,omitzero"`
	By     string          `canon:"3,by,omitzero"`
	ID     string          `canon:"4,id,omitzero"`     // the sender's own id: a second event with it changes nothing
	Notice Notice          `canon:"5,notice,omitzero"` // what the runtime itself understands
	Taint  bool            `canon:"6,taint,omitzero"`
	Set    map[string]Data `canon:"7,set,omitzero"`
}

// EventOf is an event as somebody outside tells it, by whatever way it comes: its name without the space around it, and
// its data as JSON, of which nothing and null are none. The error wraps ErrInvalid.
func EventOf(name string, data []byte) (ev Event, err error) {
	if ev.Name = strings.TrimSpace(name); ev.Name == "" {
		return ev, Invalid(errors.New("an event needs a name"))
	}
	if data = bytes.TrimSpace(data); len(data) == 0 || string(data) == "null" {
		return ev, nil
	}
	if ev.Data, err = DataFromJSON(data); err != nil {
		return ev, Invalid(fmt.Errorf("data: %w", err))
	}
	return ev, nil
}

// DataOf returns v as Data, as encoding/json would show it: structs by their json tags, what marshals itself as JSON or
// text does. It differs from encoding/json in this:
//
//   - bytes are bytes, which Data shows as base64;
//   - a float32 keeps its value, not its shortest digits, and NaN and infinities are kept;
//   - a nil slice is an empty list and a nil map an empty map, so that nobody has to ask which it is;
//   - two keys of a map that are the same text are refused.
func DataOf(v any) (Data, error) { return canon.DataOf(v) }

// DataFromJSON returns any JSON text as Data.
func DataFromJSON(b []byte) (Data, error) { return canon.DataFromJSON(b) }
