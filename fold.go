package perdure

import (
	"slices"

	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/trace"
)

// Fold is everything a decision may depend on, derived from memory and from nothing else. It has canonical bytes, so
// two nodes that hold the same entries can compare the hash of theirs. It must not be changed: get a new one with
// Agent.Apply.
//
// Its size is that of what is open (effects under way, questions, children, unseen events), not of the history.
type Fold struct {
	Agent AgentID `canon:"1,agent"` // the name of its genesis entry, for life
	// what it is for, as genesis says and mutations and edits have changed it since
	Intent Intent `canon:"2,intent"`
	// who it is and within what bounds, as genesis says; the owner changes by key changes, the scope only narrows
	Charter Charter  `canon:"3,charter"`
	Lineage *Lineage `canon:"4,lineage,optional"` // where it came from, as genesis says; absent: from nobody

	Created Time   `canon:"5,created"` // time of the genesis entry
	Updated Time   `canon:"6,updated"` // time of the last entry in fold order
	Count   int64  `canon:"7,count"`   // entries folded
	Seq     int64  `canon:"8,seq"`     // the highest seq
	Heads   []Head `canon:"9,heads"`   // the entries without a child, ascending by name

	Did phase.State `canon:"10,did,omitzero"` // the state the last advice or decision led to; see State
	// how it ended; set by a decision to end or a cancellation, and by nothing after the first of them
	Ended  *Ending `canon:"11,ended,optional"`
	Paused []Hash  `canon:"12,paused,omitzero"` // the pauses that no resume has named
	// set when two owners were named on two branches, or more key changes came than can be followed: it stays still for
	// good
	Contested bool `canon:"13,contested,omitzero"`
	// the sleep it is in; set by a decision to sleep, absent after one to wake
	Sleep *Sleeping `canon:"14,sleep,optional"`
	// what a stale wake must look at again: set by the wake, each call leaves it when it is decided
	Recheck   []Execute   `canon:"15,recheck,omitzero"`
	Proposals []proposals `canon:"16,proposals,omitzero"` // recent advice with actions, the current one last
	Open      []Open      `canon:"17,open,omitzero"`      // decisions allowed, without an outcome yet
	// decisions that ask a person, without an answer that settles them yet
	Asks []Asking `canon:"18,asks,omitzero"`
	// effects that did not happen and are to be tried again; set by outcomes
	Owed []Owed `canon:"19,owed,omitzero"`
	// events the advisor has not seen: each leaves it when an advice names it as seen
	Inbox []Message `canon:"20,inbox,omitzero"`
	// recent ids of events, so that a second event with one changes nothing
	Dedupe []string `canon:"21,dedupe,omitzero"`
	// its children: a delegation adds one, the notice of its end marks it
	Children []ChildInfo `canon:"22,children,omitzero"`

	// what advice, outcomes and ended children have cost, on all branches
	Spent   Spend        `canon:"23,spent"`
	Granted Spend        `canon:"24,granted"`        // what its owner has added to the budget of the intent
	Turns   int64        `canon:"25,turns,omitzero"` // times the advisor was asked
	Tools   []ToolRecord `canon:"26,tools,omitzero"` // recent signals, by tool
	// what nodes have shown they cannot do; set by outcomes and by notices
	Incapable []Incapability  `canon:"27,incapable,omitzero"`
	Revoked   []Key           `canon:"28,revoked,omitzero"` // keys whose entries no longer count, as its owner said
	Former    []Key           `canon:"29,former,omitzero"`  // owners before this one
	Vars      map[string]Data `canon:"30,vars,omitzero"`    // the agent's state, as outcomes and events set it
	Taint     Hash            `canon:"31,taint,omitzero"`   // the last entry that brought in untrusted text
	// the advice whose summary stands for the transcript before it
	Summary  Hash  `canon:"32,summary,omitzero"`
	Since    int64 `canon:"33,since,omitzero"`    // seq of the summary: the transcript begins there
	Snapshot int64 `canon:"34,snapshot,omitzero"` // count at the last snapshot
	Denials  int64 `canon:"35,denials,omitzero"`  // refusals in a row
	// entries that did not go together with another branch or do not count, and why; the latest
	Conflicts []Conflict `canon:"36,conflicts,omitzero"`
	Edited    Hash       `canon:"37,edited,omitzero"`   // the entry that gave the intent its present form
	Enclosed  []Hash     `canon:"38,enclosed,omitzero"` // the policies and schemas whose text is in memory
	// who began it, when not its owner: the charter is then only their word
	Begun    Key   `canon:"39,begun,omitzero"`
	Admitted []Key `canon:"40,admitted,omitzero"` // who vouched for it by a notice
	// the claims on the seat that nobody has followed; one, unless it is disputed
	Seats []Seat `canon:"41,seats,omitzero"`
	// what somebody found decided on two branches, and nobody has settled
	Doubled []Doubled `canon:"42,doubled,omitzero"`
	// of the last genesis, event or wake that has one: what is written next belongs to it
	Trace trace.ID `canon:"45,trace,omitzero"`
	// what the current proposals rest on, if their advice said so
	Basis *resting `canon:"46,basis,optional"`

	own         owned
	rooms       rooms
	weights     weights
	acts        []act      // the latest, of the entries at hand
	forgot      Position   // the last of those before them; zero: there are none
	doubled     []Doubled  // found among them, and not on record
	beside      []act      // what was proposed beside or after the end, and not decided before it
	unmade      []unmade   // once effects that were not done, as far as is on record in those entries
	happened    []happened // those of them that were, and the advisor has not been told
	made        []made     // once effects that were done, as those entries say
	fallen      []Message  // left the inbox unseen, among those entries; see drop
	judged      *judged    // which events filters did not fit
	fallenBytes int        // of their data
	tellers     []Hash     // the events that the ids at the end of dedupe are of
	twins       []twin     // events that repeat others
	echoes      []Hash     // messages in the inbox that repeat what the advisor has seen
	sights      []sight    // of advice that may not count
	drifted     []Hash     // those in fallen that only such advice has seen
	marks       []wakeMark // on messages in the inbox
	remade      *labelled  // its kind and labels as programs before relabel had them, if they differ
	doubling    []repeat   // questions about what was decided beside them
	wanted      []wanted   // what open questions are about, see questioned; nil: not worked out
	work        int64      // steps, and the elements of lists they have copied or compared: what tests count
}

// Head is an entry without a child.
type Head struct {
	Name   Hash  `canon:"1,name"`            // of the entry
	Seq    int64 `canon:"2,seq"`             // of the entry
	Knows  []Key `canon:"3,knows,omitzero"`  // the keys revoked in its past, ascending
	Owners []Key `canon:"4,owners,omitzero"` // those the agent was handed on to in its past, ascending
	Handed []Key `canon:"5,handed,omitzero"` // those who handed it on, ascending

	unseen // the acts folded before it that are not in its past
}

// Ending is how the agent ended.
type Ending struct {
	Entry  Hash   `canon:"1,entry"`                  // the decision or the cancellation that ended it
	Signal Signal `canon:"2,signal"`                 // how; denied for a cancellation
	Result Data   `canon:"3,result,omitzero"`        // what it came to, as its advisor says
	Note   string `canon:"4,note,omitzero,verbatim"` // why, in words
	Time   Time   `canon:"5,time"`                   // of the entry
}

// Sleeping is the sleep the agent is in.
type Sleeping struct {
	Decision Hash   `canon:"1,decision"`       // the decision to sleep
	Since    Time   `canon:"2,since"`          // time of that decision
	Sleep    Sleep  `canon:"3,sleep"`          // what it said
	Polls    []poll `canon:"4,polls,omitzero"` // the latest answer to each Every of the trigger, in order

	// a person was asked whether it may wake and did not let it; what it is told next ends that
	Refused bool `canon:"5,refused,omitzero"`
}

// poll is the latest answer to a polling tool.
type poll struct {
	Index  int64  `canon:"1,index"`           // which Every of the trigger, in the order they are written, from 0
	At     Time   `canon:"2,at"`              // time of the outcome
	Signal Signal `canon:"3,signal"`          // how the call ended
	Result Data   `canon:"4,result,omitzero"` // what the condition is asked about
}

// proposals is an advice and which of its actions have been decided.
type proposals struct {
	Advice  Hash     `canon:"1,advice"`           // the entry that proposed them
	Actions []Action `canon:"2,actions,omitzero"` // in order, as proposed
	Decided []bool   `canon:"3,decided,omitzero"` // which of them have a decision
	Epoch   int64    `canon:"4,epoch,omitzero"`   // of the seat where it was asked for
	Apart   bool     `canon:"5,apart,omitzero"`   // it was asked for in a copy

	bytes int // of the actions; zero: not known
}

// Open is an allowed action without an outcome.
type Open struct {
	Decision Hash   `canon:"1,decision"` // the entry that allowed it
	Key      Hash   `canon:"2,key"`      // of the effect: the same for every attempt at it
	Action   Action `canon:"3,action"`   // what is to be done
	// the class that the deciding node recorded; the tool itself may be more careful
	Effect   Effect `canon:"4,effect,omitzero"`
	Since    Time   `canon:"5,since"`             // time of the decision
	Deadline Time   `canon:"6,deadline,omitzero"` // when silence becomes a signal
	Reserve  Spend  `canon:"7,reserve"`           // held from the budget until the outcome settles it
	Origin   Key    `canon:"8,origin"`            // who decided
	Attempt  int64  `canon:"9,attempt"`           // which attempt at the effect this is, from 1
	Child    []byte `canon:"10,child,omitzero"`   // the signed genesis entry of the agent a delegation creates
	Doubt    bool   `canon:"11,doubt,omitzero"`   // the tool could not tell what came of it
}

// Asking is an action that waits for a person.
type Asking struct {
	Decision Hash    `canon:"1,decision"`        // the entry that asks
	Advice   Hash    `canon:"2,advice,omitzero"` // the advice that proposed the action
	Index    int64   `canon:"3,index,omitzero"`  // which of its actions
	Action   Action  `canon:"4,action"`          // what it asks about
	Digest   Hash    `canon:"5,digest"`          // what an approval must bind
	Since    Time    `canon:"6,since"`           // time of the decision
	Verdict  Verdict `canon:"7,verdict"`         // policy's answer: whom it asks, how many must approve, until when
	Votes    []Vote  `canon:"8,votes,omitzero"`  // the answers so far that bind the digest
	Stage    int64   `canon:"9,stage,omitzero"`  // how many of the verdict's escalations have come
	Key      Hash    `canon:"10,key,omitzero"`   // of the effect, if it has been tried before
}

// Asked is whom the question goes to by now: those the verdict names, and those of every escalation that has come.
func (q *Asking) Asked() []string {
	asked := slices.Clone(q.Verdict.Asked)
	for i := range q.Verdict.Escalate[:min(q.Stage, int64(len(q.Verdict.Escalate)))] {
		asked = append(asked, q.Verdict.Escalate[i].Asked...)
	}
	return asked
}

// by is the question as it stands at a time: an escalation counts when its time has come, whoever says that it did.
func (q *Asking) by(t Time) *Asking {
	came := int64(0)
	for came < q.Stage && came < int64(len(q.Verdict.Escalate)) && q.Verdict.Escalate[came].At <= t {
		came++
	}
	if came == q.Stage {
		return q
	}
	early := *q
	early.Stage = came
	return &early
}

// Vote is one person's answer.
type Vote struct {
	Event   Hash `canon:"1,event"`            // the entry that answers
	Origin  Key  `canon:"2,origin"`           // who signed it
	Approve bool `canon:"3,approve"`          // yes or no
	Expires Time `canon:"4,expires,omitzero"` // when a yes no longer counts; none: never
}

// Owed is an effect that did not happen and is to be tried again.
type Owed struct {
	Key     Hash   `canon:"1,key"`               // of the effect: the same for every attempt at it
	Action  Action `canon:"2,action"`            // what is to be tried
	Effect  Effect `canon:"3,effect,omitzero"`   // its class, as recorded
	Attempt int64  `canon:"4,attempt"`           // made so far
	Signal  Signal `canon:"5,signal"`            // how the last attempt ended
	Since   Time   `canon:"6,since"`             // of the last outcome
	After   int64  `canon:"7,after_ms,omitzero"` // the retry-after it named
	Limit   int64  `canon:"8,limit_ms,omitzero"` // the time it was allowed

	// The attempt that surely did not happen, of a once effect: whoever began it said so, or a node of the agent's
	// looked. Without it, it is somebody's word, and nobody tries again.
	Decision Hash `canon:"9,decision,omitzero"`
}

// Message is an event the advisor has not seen.
type Message struct {
	Event Hash   `canon:"1,event"`          // the entry
	Name  string `canon:"2,name"`           // of the event
	By    string `canon:"3,by,omitzero"`    // who said it, in its own words: the origin of the entry says who signed it
	Data  Data   `canon:"4,data,omitzero"`  // what it said; none once its body was dropped
	Time  Time   `canon:"5,time"`           // of the entry
	Spent bool   `canon:"6,spent,omitzero"` // has woken the agent
	// of data that a snapshot left out because its time was up: how many bytes it had. They count as if it were there,
	// so that what is folded beside the snapshot comes to the same with the data and without
	Gone int64 `canon:"7,gone,omitzero"`
}

// ChildInfo is what a parent knows of a child.
type ChildInfo struct {
	Agent    AgentID `canon:"1,agent"`           // its id
	Decision Hash    `canon:"2,decision"`        // the delegation that created it
	Reserve  Spend   `canon:"3,reserve"`         // the budget set aside for it
	Ended    bool    `canon:"4,ended,omitzero"`  // the notice of its end has come
	Signal   Signal  `canon:"5,signal,omitzero"` // how it ended
	Head     Hash    `canon:"6,head,omitzero"`   // the entry that ended it, by which this memory commits to the child's
	Result   Data    `canon:"7,result,omitzero"` // what it came to
}

// ToolRecord is the recent signals of one tool, oldest first.
type ToolRecord struct {
	Tool  string         `canon:"1,tool"`           // its name; "advisor:NAME" for an advisor
	Calls int64          `canon:"2,calls,omitzero"` // how often it was called in all
	Used  int64          `canon:"3,used"`           // seq of its last outcome
	Last  []SignalRecord `canon:"4,last,omitzero"`  // the latest signals, oldest first

	room *room // behind Last
}

// SignalRecord is one signal of a tool.
type SignalRecord struct {
	Signal Signal `canon:"1,signal"`            // how a call ended
	Time   Time   `canon:"2,time"`              // of its outcome
	After  int64  `canon:"3,after_ms,omitzero"` // the retry-after it named
	Took   int64  `canon:"4,took_us,omitzero"`  // how long it took, as entries record it in microseconds
}

// Incapability is something a node has shown it cannot do.
type Incapability struct {
	Node Key    `canon:"1,node"`                   // the key of the node
	What string `canon:"2,what"`                   // the tool, or "advisor:NAME"
	Note string `canon:"3,note,omitzero,verbatim"` // what was wrong, in words

	Since   Time  `canon:"4,since,omitzero"`   // when it last showed it
	Times   int64 `canon:"5,times,omitzero"`   // how often
	Missing bool  `canon:"6,missing,omitzero"` // it has no such tool or advisor: its notice says so
}

// Conflict is something two branches of a memory did that does not go together, and what the fold made of it.
type Conflict struct {
	Entry Hash   `canon:"1,entry"` // the entry that did not count, or not as written
	What  string `canon:"2,what"`  // why, in words that never change: snapshots have them in them
}

// conflictVoid is what a conflict says of a void entry. Snapshots have it in them: it never changes.
const conflictVoid = "entry of a revoked key, written where the revocation was not known: it counts for nothing"

// Snapshot is the body of a snapshot entry: the fold of everything its author had seen. Messages of its inbox that are
// Gone have no data there, and from the snapshot on nowhere.
type Snapshot struct {
	Fold Fold `canon:"1,fold"`
}

// clone is a copy of f that can be stepped without a change to f.
func (f *Fold) clone() *Fold {
	c := *f
	c.own = owned{}
	return &c
}

// Hash is the hash of the canonical bytes of the fold.
func (f *Fold) Hash() (Hash, error) {
	b, err := foldCodec.Append(nil, f)
	return HashOf(b), err
}

// MarshalBinary returns the canonical bytes of the fold.
func (f *Fold) MarshalBinary() ([]byte, error) { return foldCodec.Append(nil, f) }
