package client

import (
	"encoding/json"

	"github.com/perdure/perdure"
)

// What goes over the wire. The JSON of a server is that of the command line with --json: a value may have more fields
// than are named here, and a newer server may add some. Times are RFC 3339; "never" and an absent one are none.

// Agent is one agent on one screen.
type Agent struct {
	Agent    perdure.AgentID `json:"agent" doc:"its id, for life"`
	Name     string          `json:"name,omitempty"`
	Standing string          `json:"standing" doc:"ready, running, dormant, waiting, handed over, older or terminated"`
	State    string          `json:"state" doc:"the same in the eight states of the runtime"`
	Next     string          `json:"next" doc:"what a node would do"`
	Why      string          `json:"why" doc:"why it rests"`
	Due      string          `json:"due,omitempty" doc:"when a node should look"`
	Person   bool            `json:"person" doc:"a person must act first"`
	Needs    string          `json:"needs,omitempty" doc:"what a node must have to go on with it"`
	Ended    *Ending         `json:"ended,omitempty"`
	Intent   json.RawMessage `json:"intent" doc:"what it is for"`
	Charter  json.RawMessage `json:"charter" doc:"who it is and within what bounds"`
	Owner    string          `json:"owner"`
	Created  string          `json:"created"`
	Updated  string          `json:"updated"`
	Turns    int64           `json:"turns" doc:"how often its advisor was asked"`
	Spent    Spend           `json:"spent"`
	Limit    *Spend          `json:"limit,omitempty" doc:"its budget, with what was granted; what has no limit is absent"`
	Left     *Spend          `json:"left,omitempty" doc:"of its budget; what has no limit is absent"`
	Waits    []Wait          `json:"waits" doc:"what waits for a person"`
	Entries  int64           `json:"entries"`
	Depth    string          `json:"depth" doc:"how much of its memory is here"`
	Heads    []perdure.Hash  `json:"heads"`
}

// Ending is how an agent ended.
type Ending struct {
	Signal string          `json:"signal"`
	Result json.RawMessage `json:"result,omitempty"`
	Note   string          `json:"note,omitempty"`
}

// Spend is money in millionths of a US dollar, model tokens and tool calls.
type Spend struct {
	Cost   int64 `json:"cost,omitempty"`
	Tokens int64 `json:"tokens,omitempty"`
	Calls  int64 `json:"calls,omitempty"`
}

// Listed is a line of a list.
type Listed struct {
	Agent    perdure.AgentID   `json:"agent"`
	Name     string            `json:"name,omitempty"`
	Kind     string            `json:"kind,omitempty"`
	Scope    string            `json:"scope"`
	State    string            `json:"state"`
	Labels   map[string]string `json:"labels,omitempty"`
	Created  string            `json:"created"`
	Updated  string            `json:"updated"`
	Due      string            `json:"due,omitempty"`
	Entries  int64             `json:"entries"`
	Waiting  bool              `json:"waiting,omitempty" doc:"for a person"`
	Standing string            `json:"standing"`
	Depth    string            `json:"depth,omitempty"`
	Damaged  string            `json:"damaged,omitempty" doc:"why it cannot be read"`
	Apart    string            `json:"apart,omitempty" doc:"of one that nodes there do nothing for: when they will; - is never"`
	Wrong    string            `json:"wrong,omitempty" doc:"what is wrong with it, and what to do"`
}

// List is a page of agents, by name, then id.
type List struct {
	Agents []Listed `json:"agents"`
	Next   string   `json:"next,omitempty" doc:"the cursor for more; absent: these are all"`
}

// Wait is one thing that waits for a person.
type Wait struct {
	Agent    perdure.AgentID `json:"agent"`
	Name     string          `json:"name,omitempty"`
	Kind     string          `json:"kind" doc:"approval, question, talk, in-doubt, paused, held, budget, seat, doubled, older or other"`
	Decision perdure.Hash    `json:"decision,omitzero"`
	Digest   perdure.Hash    `json:"digest,omitzero" doc:"what an approval is bound to"`
	Tool     string          `json:"tool,omitempty"`
	Action   json.RawMessage `json:"action,omitempty"`
	What     string          `json:"what"`
	Why      string          `json:"why,omitempty"`
	Asked    []string        `json:"asked,omitempty" doc:"who is asked"`
	Whom     string          `json:"whom,omitempty" doc:"the same in words, where the charter says who that is"`
	Quorum   int64           `json:"quorum,omitempty" doc:"how many must approve"`
	Approved int             `json:"approved,omitempty" doc:"how many have"`
	Since    string          `json:"since,omitempty"`
	Expires  string          `json:"expires,omitempty"`
	Answer   string          `json:"answer" doc:"the command that answers it"`
	Others   string          `json:"others,omitempty" doc:"why nothing said here would count, and who is to answer"`
	Sheet    []Row           `json:"sheet,omitempty" doc:"what a person answers for, whole, as lines"`
	Head     string          `json:"head,omitempty" doc:"the same in one line"`
}

// Row is a row for people: what it is about, and its lines.
type Row struct {
	Label string   `json:"label,omitempty"`
	Text  []string `json:"text"`
}

// Waits is what waits for people.
type Waits struct {
	Waits  []Wait `json:"waits"`
	Faults string `json:"faults,omitempty" doc:"agents that could not be read, and why"`
	Next   string `json:"next,omitempty" doc:"the cursor of what follows; without one, this is all. A page may be empty"`
}

// PageRow is a row of the page about an agent.
type PageRow struct {
	Label string `json:"label"`
	Text  string `json:"text"`
	Do    string `json:"do,omitempty" doc:"a command that does something about it"`
}

// Page is an agent on one screen, as rows for people.
type Page struct {
	Rows []PageRow `json:"rows"`
}

// Line is one entry as people read it. Its fields are in the order of view.Line: what comes from a server is printed as
// what comes from a store.
type Line struct {
	Cursor string          `json:"cursor,omitempty" doc:"the position of this entry, to read on after it"`
	Agent  perdure.AgentID `json:"agent,omitzero"`
	Name   string          `json:"name,omitempty" doc:"of the agent"`
	Seq    int64           `json:"seq"`
	Entry  perdure.Hash    `json:"entry" doc:"the name of the entry"`
	Time   string          `json:"time"`
	Kind   string          `json:"kind" doc:"genesis, advice, decision, outcome, event or snapshot"`
	Origin perdure.Key     `json:"origin" doc:"who wrote it"`
	What   string          `json:"what" doc:"what it says"`
	Tool   string          `json:"tool,omitempty"`
	Signal string          `json:"signal,omitempty"`
	Parent []perdure.Hash  `json:"parents,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
	Trace  string          `json:"trace,omitempty"`
}

// Lines is a part of a memory, in the order it arrived.
type Lines struct {
	Entries []Line `json:"entries"`
	Next    string `json:"next,omitempty" doc:"the cursor for more; absent: these are all there are now"`
	// Position is where a tail of the agent goes on without a gap.
	Position string `json:"position" doc:"the end of what was read, to follow the agent from"`
	Before   bool   `json:"before,omitempty" doc:"there are entries before these"`
}

// Said is one thing in a conversation.
type Said struct {
	Seq    int64        `json:"seq"`
	Entry  perdure.Hash `json:"entry"`
	Time   string       `json:"time"`
	Who    string       `json:"who"`
	What   string       `json:"what"`
	Text   string       `json:"text,omitempty"`
	Tool   string       `json:"tool,omitempty"`
	Signal string       `json:"signal,omitempty"`
}

// Transcript is the end of a conversation.
type Transcript struct {
	Said   []Said `json:"said"`
	Before bool   `json:"before,omitempty" doc:"there is more before this"`
}

// State is the fold of a memory, or what the agent's state is.
type State struct {
	Agent perdure.AgentID `json:"agent"`
}

// Change is one difference.
type Change struct {
	Path string          `json:"path"`
	From json.RawMessage `json:"from,omitempty" doc:"absent: it was added"`
	To   json.RawMessage `json:"to,omitempty" doc:"absent: it was removed"`
}

// Diff is what differs between two points.
type Diff struct {
	From    string   `json:"from"`
	To      string   `json:"to"`
	Changes []Change `json:"changes"`
}

// Intent is what an agent to be created is for.
type Intent struct {
	Goal      string            `json:"goal,omitempty" doc:"what it is to achieve; needed to create an agent"`
	Name      string            `json:"name,omitempty" doc:"what to call it; default: the first words of the goal"`
	Kind      string            `json:"kind,omitempty"`
	Inputs    json.RawMessage   `json:"inputs,omitempty" doc:"the data it works on"`
	Advisor   string            `json:"advisor,omitempty"`
	Tools     *[]string         `json:"tools,omitempty" doc:"the only tools it may use; default: whatever policy permits"`
	Labels    map[string]string `json:"labels,omitempty"`
	Scope     string            `json:"scope,omitempty" doc:"where it belongs, such as acme/ops; default: home, or the scope of the token"`
	Deadline  string            `json:"deadline,omitempty" doc:"a time, or a duration from now such as 24h"`
	Budget    *Budget           `json:"budget,omitempty"`
	Depth     int64             `json:"depth,omitempty" doc:"how many generations it may delegate to"`
	TTL       string            `json:"ttl,omitempty" doc:"how long bodies are kept"`
	Approvers []string          `json:"approvers,omitempty" doc:"keys of those who approve"`
	Delegates []string          `json:"delegates,omitempty" doc:"keys of those whose nodes may run it"`
	Schema    string            `json:"state_schema,omitempty" doc:"the hash of the schema of its state"`
	Policies  []string          `json:"policies,omitempty" doc:"the hashes of its own policies"`
}

// Budget is the most an agent may spend.
type Budget struct {
	Cost   string `json:"cost,omitempty" doc:"US dollars, such as 1.50"`
	Tokens *int64 `json:"tokens,omitempty"`
	Calls  *int64 `json:"calls,omitempty"`
}

// Created is an agent that was created.
type Created struct {
	Agent perdure.AgentID `json:"agent"`
	Name  string          `json:"name,omitempty"`
	Notes []string        `json:"notes,omitempty" doc:"what whoever asks should know, such as that another agent has the name"`
}

// Event is something told to an agent.
type Event struct {
	Name string          `json:"name" minLength:"1"`
	Data json.RawMessage `json:"data,omitempty"`
	ID   string          `json:"id,omitempty" doc:"the sender's own id: a second event with it changes nothing"`
}

// Recorded is an event that was recorded.
type Recorded struct {
	Agent  perdure.AgentID `json:"agent"`
	Entry  perdure.Hash    `json:"entry"`
	Seq    int64           `json:"seq"`
	Before bool            `json:"before,omitempty" doc:"it was received before, and nothing changed"`
}

// Told is what an agent was told, and how it stands after it.
type Told struct {
	Agent    perdure.AgentID `json:"agent"`
	Name     string          `json:"name,omitempty"`
	Entry    perdure.Hash    `json:"entry" doc:"that records it, durably"`
	Seq      int64           `json:"seq"`
	What     string          `json:"what"`
	Standing string          `json:"standing"`
	Lacks    string          `json:"lacks,omitempty" doc:"what is still used up of its budget, after a grant"`
	Before   bool            `json:"before,omitempty" doc:"it was there before, and nothing changed"`
	About    *Wait           `json:"about,omitempty" doc:"what was answered, whole"`
	Notes    []string        `json:"notes,omitempty" doc:"what whoever asks should know, such as that nothing here has a tool"`
}

// Ballot is an answer to what policy asks about.
type Ballot struct {
	Digest  string `json:"digest,omitempty" minLength:"1" doc:"of exactly what is answered, or its first digits; may be left out if there is one"`
	Note    string `json:"note,omitempty" doc:"why; the agent is told"`
	Expires string `json:"expires,omitempty" doc:"when an unused approval lapses: a time, or a duration from now"`
}

// ToSign asks for an answer that somebody signs elsewhere.
type ToSign struct {
	Ballot
	Approve bool   `json:"approve"`
	Key     string `json:"key" doc:"the public key that will sign"`
	Name    string `json:"name" minLength:"1" doc:"what its owner is called"`
}

// Unsigned is an answer without its signature: entries in binary form.
type Unsigned struct {
	Agent   perdure.AgentID `json:"agent"`
	Digest  perdure.Hash    `json:"digest"`
	Entries [][]byte        `json:"entries" doc:"the entries in binary form; sign the name of the last"`
	About   *Wait           `json:"about,omitempty"`
	// Evidence lets who signs see for themselves what the digest stands for.
	Evidence [][]byte `json:"evidence" doc:"the entries that propose and decide it, in binary form"`
}

// Signed is an answer that somebody signed.
type Signed struct {
	Entries [][]byte `json:"entries" minItems:"1" maxItems:"64"`
}

// NewLink asks for a link.
type NewLink struct {
	Digest  string `json:"digest,omitempty" minLength:"1"`
	Expires string `json:"expires,omitempty" doc:"a time, or a duration from now; default 24h, at most 30 days"`
}

// Link is good for one answer to one question.
type Link struct {
	Link    string          `json:"link" doc:"the secret is behind the #, which browsers send nowhere"`
	Agent   perdure.AgentID `json:"agent"`
	Digest  perdure.Hash    `json:"digest"`
	Expires string          `json:"expires"`
}

// Note is why somebody does something.
type Note struct {
	Note string `json:"note,omitempty"`
}

// Answer answers what an agent asks people.
type Answer struct {
	Text string `json:"text" minLength:"1"`
}

// Settle says what came of an effect that is in doubt.
type Settle struct {
	Decision string          `json:"decision" doc:"the decision, or the first digits of its hash"`
	Signal   string          `json:"signal" enum:"ok,failed" doc:"ok: it happened; failed: it did not and will not"`
	Result   json.RawMessage `json:"result,omitempty"`
	Note     string          `json:"note,omitempty" doc:"how you found out"`
}

// Grant adds to a budget.
type Grant struct {
	Cost   string `json:"cost,omitempty" doc:"US dollars, such as 1.50"`
	Tokens int64  `json:"tokens,omitempty"`
	Calls  int64  `json:"calls,omitempty"`
	Note   string `json:"note,omitempty"`
}

// Edit changes an agent. What is absent stays.
type Edit struct {
	Goal     *string                    `json:"goal,omitempty"`
	Kind     *string                    `json:"kind,omitempty"`
	Inputs   json.RawMessage            `json:"inputs,omitempty"`
	Scope    *string                    `json:"scope,omitempty" doc:"inside the one it has"`
	Deadline string                     `json:"deadline,omitempty"`
	Budget   *Budget                    `json:"budget,omitempty" doc:"at most what it has"`
	Depth    *int64                     `json:"depth,omitempty"`
	Labels   map[string]string          `json:"labels,omitempty" doc:"an empty value takes a label away"`
	Tools    *[]string                  `json:"tools,omitempty" doc:"those it keeps"`
	Set      map[string]json.RawMessage `json:"set,omitempty" doc:"values of its state by name; null takes one away"`
	Note     string                     `json:"note,omitempty"`
}

// Fork makes an agent that begins where another was.
type Fork struct {
	At   string  `json:"at,omitempty" doc:"a seq, a hash, a time or how long ago; default now"`
	Goal string  `json:"goal,omitempty"`
	Name string  `json:"name,omitempty"`
	Over *Intent `json:"intent,omitempty" doc:"its fields replace those of the other's intent"`
	Live bool    `json:"live,omitempty" doc:"it acts, not only rehearses"`
	Dry  bool    `json:"dry_run,omitempty" doc:"nothing is made"`
}

// Forked is what came of a fork.
type Forked struct {
	Agent    perdure.AgentID   `json:"agent,omitzero"`
	Name     string            `json:"name"`
	From     perdure.AgentID   `json:"from"`
	At       perdure.Hash      `json:"at"`
	Rehearse bool              `json:"rehearse"`
	Effects  []json.RawMessage `json:"not_undone" doc:"what the other has done, which stays done"`
	Open     []json.RawMessage `json:"left_open,omitempty" doc:"what came to nothing yet there, and is not part of the fork"`
	Notes    []string          `json:"notes,omitempty" doc:"what whoever asks should know, such as that another agent has the name"`
}

// Arrived is what came of an import.
type Arrived struct {
	Agent    perdure.AgentID `json:"agent"`
	Name     string          `json:"name,omitempty"`
	Relation string          `json:"relation" doc:"to the copy that was there: created, same, newer, older, diverged, deeper, mended or restored"`
	Verdict  string          `json:"verdict,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Depth    string          `json:"depth"`
	Entries  int64           `json:"entries"`
	Heads    []perdure.Hash  `json:"heads"`
	Paused   bool            `json:"paused"`
	Held     bool            `json:"held" doc:"it has entries that do not count there"`
	Standing string          `json:"standing"`
	Text     []string        `json:"text,omitempty" doc:"the same for people"`
}

// Verified is what verification found.
type Verified struct {
	OK    bool            `json:"ok"`
	Agent perdure.AgentID `json:"agent"`
	Depth string          `json:"depth"`
	Rows  []PageRow       `json:"rows,omitempty" doc:"the same for people"`
}

// Why asks policy about an action.
type Why struct {
	Decision  string          `json:"decision,omitempty" doc:"a decision that was made, by seq or hash"`
	Tool      string          `json:"tool,omitempty" doc:"a tool that would be called"`
	Args      json.RawMessage `json:"args,omitempty"`
	Effect    string          `json:"effect,omitempty" enum:"read,idempotent,once" doc:"the class of the tool; default: the one it has there"`
	Approvals int             `json:"approvals,omitempty" doc:"how many people have approved it"`
	Admit     bool            `json:"admit,omitempty" doc:"ask instead whether the agent may run there when it arrives from elsewhere"`
	Trusted   bool            `json:"trusted,omitempty" doc:"with admit: its owner is trusted there"`
	Set       []string        `json:"set,omitempty" doc:"FACT=VALUE: what if this were so"`
}

// Explained is why policy says so.
type Explained struct {
	Action  string            `json:"action"`
	Note    string            `json:"note,omitempty" doc:"what is assumed, such as the class of a tool that nobody knows there"`
	Verdict json.RawMessage   `json:"verdict,omitempty"`
	Rules   []json.RawMessage `json:"rules,omitempty"`
	Facts   json.RawMessage   `json:"facts"`
	Rows    [][]string        `json:"rows,omitempty" doc:"the same for people: lines, which are rows of one cell, and rules in four cells"`
}

// Tool is a tool that agents may call.
type Tool struct {
	Name   string            `json:"name"`
	About  string            `json:"about,omitempty"`
	Args   []json.RawMessage `json:"args,omitempty"`
	Effect string            `json:"effect" doc:"read, idempotent or once"`
	Source string            `json:"source"`
	Answer string            `json:"answer" doc:"of policy: allow, deny or ask"`
	Rules  []string          `json:"rules,omitempty"`
	Why    string            `json:"why,omitempty"`
}

// Tools are the tools of a home.
type Tools struct {
	Tools []Tool `json:"tools"`
}

// Node is what runs agents.
type Node struct {
	Name     string       `json:"name"`
	Key      perdure.Key  `json:"key"`
	Place    perdure.Hash `json:"place,omitzero" doc:"the id of the store"`
	Version  string       `json:"version"`
	Runs     bool         `json:"runs" doc:"it runs agents"`
	Why      string       `json:"why,omitempty" doc:"why it does not"`
	Advisors string       `json:"advisors,omitempty"`
	Tools    string       `json:"tools,omitempty"`
	Held     int          `json:"held" doc:"agents that nodes of this store are at work on"`
	Capable  Capable      `json:"capable" doc:"what it can do, for others who look for somebody who can"`
}

// Capable is what a node can do.
type Capable struct {
	Advisors []string `json:"advisors" doc:"by name; an empty one is for agents that name none"`
	Tools    []string `json:"tools"`
	Scopes   []string `json:"scopes,omitempty" doc:"of the agents it runs; none: any"`
}

// Nodes are the nodes of a store, as far as its server knows.
type Nodes struct {
	Nodes []Node `json:"nodes"`
	// Known and Table are there if they were asked for.
	Known []json.RawMessage `json:"known,omitempty" doc:"nodes that the home knows of, itself first"`
	Table [][]string        `json:"table,omitempty" doc:"the same for people, the head first"`
}

// Who is who asks.
type Who struct {
	Name   string      `json:"name"`
	Key    perdure.Key `json:"key,omitzero" doc:"of the person, by which votes count"`
	Person bool        `json:"person" doc:"a person, who may answer"`
	Scope  string      `json:"scope"`
	Verbs  []string    `json:"verbs"`
	Agent  string      `json:"agent,omitempty" doc:"of a link: the agent"`
	Digest string      `json:"digest,omitempty" doc:"of a link: the question"`
}

// Health is whether a server does its work.
type Health struct {
	Status  string `json:"status" doc:"ok, or what is wrong"`
	Version string `json:"version"`
}
