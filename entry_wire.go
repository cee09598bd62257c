package perdure

import "github.com/perdure/perdure/internal/canon"

// signatureSize is the length of an Ed25519 signature.
const signatureSize = 64

// saltedBody is a body on the wire: its content under a salt, so that the hash of a short secret cannot be guessed once
// the body is gone.
type saltedBody struct {
	Salt     [16]byte       `canon:"1,salt"`
	Content  Body           `canon:"2,content"`
	Reserved canon.Reserved `canon:",reserved"`
}

// entryRecord is an entry on the wire. The name of the entry is the hash of the header's bytes, the header commits to
// the body's.
type entryRecord struct {
	Header    Header              `canon:"1,header"`
	Body      *saltedBody         `canon:"2,body,optional"`      // absent when dropped
	Signature [signatureSize]byte `canon:"3,signature,omitzero"` // over the name; on the last entry of each commit
}

var (
	headerCodec *canon.Codec[Header]
	bodyCodec   *canon.Codec[saltedBody]
	entryCodec  *canon.Codec[entryRecord]
	laterCodec  *canon.Codec[laterRecord]
	foldCodec   *canon.Codec[Fold]
	effectCodec *canon.Codec[effectRecord]
	keyCodec    *canon.Codec[keyRecord]
)

// Every wire number of every closed set stands here. They are frozen: do NOT reorder, do NOT reuse.
func init() {
	canon.RegisterUnion[Action]("action",
		canon.Case[Action](1, "execute", Execute{}),
		canon.Case[Action](2, "mutate", Mutate{}),
		canon.Case[Action](3, "delegate", Delegate{}),
		canon.Case[Action](4, "sleep", Sleep{}),
		canon.Case[Action](5, "wake", Wake{}),
		canon.Case[Action](6, "end", End{}),
	)
	canon.RegisterUnion[Trigger]("trigger",
		canon.Case[Trigger](1, "at", At{}),
		canon.Case[Trigger](2, "after", After{}),
		canon.Case[Trigger](3, "on", On{}),
		canon.Case[Trigger](4, "done", Done{}),
		canon.Case[Trigger](5, "when", When{}),
		canon.Case[Trigger](6, "every", Every{}),
		canon.Case[Trigger](7, "any", Any{}),
		canon.Case[Trigger](8, "all", All{}),
		canon.Case[Trigger](9, "gather", Gather{}),
	)
	canon.RegisterUnion[Notice]("notice",
		canon.Case[Notice](1, "approval", Approval{}),
		canon.Case[Notice](2, "child-ended", ChildEnded{}),
		canon.Case[Notice](3, "key-change", KeyChange{}),
		canon.Case[Notice](4, "pause", Pause{}),
		canon.Case[Notice](5, "resume", Resume{}),
		canon.Case[Notice](6, "grant", Grant{}),
		canon.Case[Notice](7, "settle", Settle{}),
		canon.Case[Notice](8, "cancel", Cancel{}),
		canon.Case[Notice](9, "edit", Edit{}),
		canon.Case[Notice](10, "doubt", Doubt{}),
		canon.Case[Notice](11, "pruned", Pruned{}),
		canon.Case[Notice](12, "erased", Erased{}),
		canon.Case[Notice](13, "escalated", Escalated{}),
		canon.Case[Notice](14, "enclosed", Enclosed{}),
		canon.Case[Notice](15, "admitted", Admitted{}),
		canon.Case[Notice](16, "joined", Joined{}),
		canon.Case[Notice](17, "seat-taken", SeatTaken{}),
		canon.Case[Notice](18, "seat-given", SeatGiven{}),
		canon.Case[Notice](19, "doubled", Doubled{}),
		canon.Case[Notice](20, "lacks", Lacks{}),
		canon.Case[Notice](21, "document", Document{}),
	)
	canon.RegisterUnion[Body]("content", // the numbers are those of the kinds
		canon.Case[Body](1, "genesis", Genesis{}),
		canon.Case[Body](2, "advice", Advice{}),
		canon.Case[Body](3, "decision", Decision{}),
		canon.Case[Body](4, "outcome", Outcome{}),
		canon.Case[Body](5, "event", Event{}),
		canon.Case[Body](6, "snapshot", Snapshot{}),
	)
	headerCodec = canon.For[Header]("header")
	bodyCodec = canon.For[saltedBody]("body")
	entryCodec = canon.For[entryRecord]("entry")
	laterCodec = canon.For[laterRecord]("entry")
	foldCodec = canon.For[Fold]("fold")
	effectCodec = canon.For[effectRecord]("effect")
	keyCodec = canon.For[keyRecord]("effect-key")
}

// effectRecord is what an approval binds: the agent, the exact action, and the decision that asked.
type effectRecord struct {
	Agent    AgentID `canon:"1,agent"`
	Decision Hash    `canon:"2,decision"`
	Action   Action  `canon:"3,action"`
}

// effectDigest is what an approval binds.
func effectDigest(id AgentID, decision Hash, action Action) (Hash, error) {
	b, err := effectCodec.Append(nil, &effectRecord{Agent: id, Decision: decision, Action: action})
	return HashOf(b), err
}

// keyRecord is what the key of an idempotent effect is the hash of.
type keyRecord struct {
	Agent  AgentID `canon:"1,agent"`
	Turn   int64   `canon:"2,turn"`
	Index  int64   `canon:"3,index"`
	Action Action  `canon:"4,action"`
}
