package perdure

// What stores refuse, each with the predicate and the words that every store uses. They are exported for stores, in
// this module and elsewhere, and for nobody else: whoever reads or writes agents meets them as a *Rejection.

// Unlinked is the refusal of an entry by a store that does not hold one of its parents.
func (e *Entry) Unlinked(parent Hash) *Rejection {
	return reject(predLinked, e, "$.header.parents", "parent "+parent.Short()+" is not in this memory",
		"every parent present", "entries before it are missing: get a copy that has them")
}

// Foreign is the refusal of an entry by the memory of an agent it does not belong to.
func (e *Entry) Foreign(id AgentID) *Rejection {
	return reject(predAgent, e, "$.header.agent", e.ID().String(), id.String(), "the entry belongs to another agent")
}

// CheckRoot refuses the first entry of a memory that is put into an empty place: at a depth of the last entries it is a
// snapshot with its body, else genesis.
func (d Depth) CheckRoot(e *Entry) error {
	_, snapshot := e.content.(Snapshot)
	if d.Kind == depthLast && snapshot || d.Kind != depthLast && e.Kind == KindGenesis {
		return nil
	}
	if len(e.Parents) > 0 {
		return e.Unlinked(e.Parents[0])
	}
	return reject(predGenesisFirst, e, "$", e.Kind.String(), "a snapshot with its body",
		"give the entries in their order")
}
