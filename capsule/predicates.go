package capsule

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/chunk"
)

// The predicates of capsules. Their names are stable: programs may compare with them.
const (
	PredMagic     = "capsule.magic"
	PredVersion   = "capsule.version"
	PredUnicode   = "capsule.unicode"
	PredFrame     = "capsule.frame"
	PredOrder     = "capsule.order"
	PredComplete  = "capsule.complete"
	PredIndex     = "capsule.index"
	PredSize      = "capsule.size"
	PredUnpacked  = "capsule.unpacked"
	PredDepth     = "capsule.depth"
	PredAnchor    = "capsule.anchor"
	PredBinding   = "capsule.binding"
	PredDetached  = "capsule.detached"
	PredManifest  = "capsule.manifest"
	PredAttested  = "capsule.attested"
	PredRecipient = "capsule.recipient"
	PredChunk     = "capsule.chunk"
	PredSchema    = "capsule.schema"
	PredName      = "capsule.name"
	PredRollback  = "capsule.rollback"
)

// Predicates lists every rule of capsules and chunks by which bytes can be refused. Entries and records are refused by
// the rules of perdure.Predicates.
var Predicates = append([]canon.Predicate{
	{Name: PredMagic, Phase: canon.PhaseStructure, Meaning: "the file begins like a capsule",
		Hint: "give a file that was exported as a capsule"},
	{Name: PredVersion, Phase: canon.PhaseStructure, Meaning: "the capsule version is one this reader knows",
		Hint: "written by a newer version: upgrade to read it"},
	{Name: PredUnicode, Phase: canon.PhaseStructure,
		Meaning: "the Unicode version is the one this reader judges text by",
		Hint:    "written by a newer version: upgrade to read it"},
	{Name: PredFrame, Phase: canon.PhaseStructure,
		Meaning: "frames are a known letter and a byte string within the limit, spelled canonically",
		Hint:    "the file was changed; get another copy"},
	{Name: PredOrder, Phase: canon.PhaseStructure,
		Meaning: "frames come in order: head, schema, entries each with body and chunks, manifest, index",
		Hint:    "the file was changed; get another copy"},
	{Name: PredComplete, Phase: canon.PhaseStructure, Meaning: "the capsule ends with its index",
		Hint: "the file was cut short: get another copy; perdure log FILE shows what is left of it"},
	{Name: PredIndex, Phase: canon.PhaseInvariant,
		Meaning: "the index counts and hashes exactly what came before it, and nothing follows it",
		Hint:    "the file was changed; get another copy"},
	{Name: PredSize, Phase: canon.PhaseStructure, Meaning: "the capsule has no more bytes than the limit",
		Hint: "raise the limit if you expected a file of this size"},
	{Name: PredUnpacked, Phase: canon.PhaseStructure,
		Meaning: "the capsule, or the set it is in, unpacks to no more bytes than the limit",
		Hint:    "if you expected so much, import it with a higher limit: perdure import --max"},
	{Name: PredDepth, Phase: canon.PhaseInvariant,
		Meaning: "the capsule holds what its depth says, and enough for what is asked of it",
		Hint:    "export the agent again at depth full"},
	{Name: PredAnchor, Phase: canon.PhaseLineage,
		Meaning: "a capsule that does not begin with genesis begins with the snapshot its anchor commits to",
		Hint:    "export the agent again"},
	{Name: PredBinding, Phase: canon.PhaseSignature,
		Meaning: "signatures are where the head says: in the entries, in a file beside, or also in a manifest",
		Hint:    "export the agent again"},
	{Name: PredDetached, Phase: canon.PhaseSignature,
		Meaning: "the signatures beside a capsule belong to its entries, in order, each once",
		Hint:    "give the signature file that was written with this capsule"},
	{Name: PredManifest, Phase: canon.PhaseSignature,
		Meaning: "the manifest's signature verifies and covers the heads of this capsule",
		Hint:    "the capsule is not the one that was signed; get another copy"},
	{Name: PredAttested, Phase: canon.PhaseSignature,
		Meaning: "validation across a trust boundary is deep, or a trusted key attests to exactly this capsule",
		Hint:    "validate deeply, or get an attestation from somebody you trust"},
	{Name: PredRecipient, Phase: canon.PhaseStructure,
		Meaning: "an encrypted capsule is encrypted to one of the identities given",
		Hint:    "give what it was encrypted to: --identity FILE, or --passphrase-file FILE"},
	{Name: PredChunk, Phase: canon.PhaseStructure,
		Meaning: "every chunk a body names is there, under its name and with its size",
		Hint:    "get the missing chunks from where the capsule came from"},
	{Name: PredSchema, Phase: canon.PhaseStructure,
		Meaning: "an embedded schema is the one the head names, and agrees with that of this reader",
		Hint:    "use a reader that knows the newer schema"},
	{Name: PredName, Phase: canon.PhaseStructure,
		Meaning: "names in a set are plain file names of regular files inside it",
		Hint:    "remove the link or the folder from the set"},
	{Name: PredRollback, Phase: canon.PhaseLineage, Meaning: "an arriving copy is not older than the one already here",
		Hint: "the copy already here has all of it and more; keep that one"},
}, chunk.Predicates...)

// reject builds a refusal by a predicate of this package.
func reject(pred string, offset int64, path, got, want string) *perdure.Rejection {
	r := canon.Reject(Predicates, pred, offset, got, want)
	r.Path = path
	return r
}

// of names the entry a refusal is about.
func of(r *perdure.Rejection, e *perdure.Entry) *perdure.Rejection {
	r.Entry = e.Name.String()
	return r
}

// moved makes the offset of a refusal that of the whole input, base being where the refused bytes begin.
func moved(err error, base int64) error {
	if r, ok := err.(*perdure.Rejection); ok {
		r.Offset += base
	}
	return err
}
