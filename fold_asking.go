package perdure

// Bound reports whether the digest of a question is that of its own action, for this agent and decision: an approval of
// the digest then permits the action that is shown, and no other. A fold taken over from a snapshot could say
// otherwise.
func (q *Asking) Bound(id AgentID) bool {
	digest, err := effectDigest(id, q.Decision, q.Action)
	return err == nil && digest == q.Digest
}

// lapsed reports whether nobody's answer is waited for any more at a time.
func (q *Asking) lapsed(t Time) bool { return q.Verdict.Expires != 0 && t >= q.Verdict.Expires }
