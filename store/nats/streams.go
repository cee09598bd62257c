package nats

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/perdure/perdure"
)

// Version is the version of the streams that this package writes.
const Version = 1

// streams are those of a store, and the subjects in them.
//
//   - log has a message per commit on PREFIX.log.AGENT: the order of arrival is theirs. Only this stream and pages hold
//     what cannot be derived.
//   - row has pages (PREFIX.page.AGENT), commits that were made smaller by pruning (PREFIX.thin.SEQ.AGENT) and entries
//     that have no place (PREFIX.aside.AGENT, and their pages PREFIX.side.AGENT).
//   - list has a listing per agent (PREFIX.list.AGENT): an index.
//   - claim has who is at work on an agent (PREFIX.claim.AGENT), and when to look at it: an index, too.
//
// While one of the indexes is made anew, what it had is in a fifth (PREFIX.kept.list.AGENT, PREFIX.kept.claim.AGENT).
type streams struct {
	prefix                string
	log, row, list, claim string
}

func streamsOf(n *Name) streams {
	p := "PERDURE_" + n.plain + "_"
	return streams{prefix: "perdure." + n.plain + ".", log: p + "log", row: p + "row", list: p + "list",
		claim: p + "claim"}
}

func (t *streams) logs(id perdure.AgentID) string   { return t.prefix + "log." + id.String() }
func (t *streams) pages(id perdure.AgentID) string  { return t.prefix + "page." + id.String() }
func (t *streams) aside(id perdure.AgentID) string  { return t.prefix + "aside." + id.String() }
func (t *streams) sides(id perdure.AgentID) string  { return t.prefix + "side." + id.String() }
func (t *streams) lists(id perdure.AgentID) string  { return t.prefix + "list." + id.String() }
func (t *streams) claims(id perdure.AgentID) string { return t.prefix + "claim." + id.String() }

// thin is where a commit is that was made smaller; without an agent, of whichever.
func (t *streams) thin(seq uint64, agent string) string {
	return t.prefix + "thin." + strconv.FormatUint(seq, 10) + "." + agent
}

// agentOf is the agent that the last token of a subject names.
func agentOf(subject string) (id perdure.AgentID, ok bool) {
	if len(subject) < 2*len(id) {
		return id, false
	}
	b, err := hex.DecodeString(subject[len(subject)-2*len(id):])
	copy(id[:], b)
	return id, err == nil
}

// streamConfig is how a stream is set up.
type streamConfig struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Subjects    []string          `json:"subjects"`
	Retention   string            `json:"retention"`
	Storage     string            `json:"storage"`
	Replicas    int               `json:"num_replicas"`
	Discard     string            `json:"discard"`
	PerSubject  int64             `json:"max_msgs_per_subject"`
	Messages    int64             `json:"max_msgs"`
	Bytes       int64             `json:"max_bytes"`
	Age         int64             `json:"max_age"`
	Size        int32             `json:"max_msg_size"`
	Consumers   int               `json:"max_consumers"`
	Direct      bool              `json:"allow_direct"`
	Atomic      bool              `json:"allow_atomic,omitempty"` // servers before 2.12 leave it out
	Metadata    map[string]string `json:"metadata,omitempty"`
}

func (s *Store) config(name, what string, replicas int, subjects ...string) streamConfig {
	for i := range subjects {
		subjects[i] = s.streams.prefix + subjects[i]
	}
	return streamConfig{Name: name, Description: what, Subjects: subjects, Retention: "limits", Storage: "file",
		Replicas: replicas, Discard: "new", PerSubject: -1, Messages: -1, Bytes: -1, Size: -1, Consumers: -1}
}

// metadata of the log.
const (
	keyVersion = "perdure-version"
	keyID      = "perdure-id"
)

// prepare finds the streams, and makes those that are missing if it may. The log is made last: where it is, all are.
func (s *Store) prepare(ctx context.Context, create bool) error {
	info, err := s.info(ctx, s.streams.log)
	if errors.Is(err, perdure.ErrNotFound) && create {
		if err = s.server.syncsHere(ctx, s); err != nil {
			return err
		}
		err = s.make(ctx)
		for deadline := time.Now().Add(s.patience); err == nil; { // what another makes is there a moment later
			info, err = s.info(ctx, s.streams.log)
			if !errors.Is(err, perdure.ErrNotFound) || time.Now().After(deadline) || !s.pause(ctx, firstRetry) {
				break
			}
			err = nil
		}
	}
	if err != nil {
		return err
	}
	version, err := strconv.Atoi(info.Config.Metadata[keyVersion])
	if err != nil || version < 1 {
		return fmt.Errorf("stream %s is not one of ours: name another store in the URL", s.streams.log)
	}
	if version > Version {
		return perdure.WithHint(fmt.Errorf("the store has version %d; this program knows %d", version, Version),
			"use a newer perdure")
	}
	s.server.learn(info)
	return nil
}

// make makes the streams. Others may do so at the same time.
func (s *Store) make(ctx context.Context) error {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return err
	}
	n := s.name.replicas
	if n == 0 {
		n = 1
		if s.conn.ConnectedClusterName() != "" {
			n = 3
		}
	}
	row := s.config(s.streams.row, "Perdure: pages of commits", n, "page.*", "thin.*.*", "aside.*", "side.*")
	list := s.config(s.streams.list, "Perdure: listings, an index", n, "list.*")
	list.PerSubject, list.Discard = 1, "old"
	claim := s.config(s.streams.claim, "Perdure: claims, an index", n, "claim.*")
	claim.PerSubject, claim.Discard = 1, "old" // on disk, too: who follows it counts on numbers that never go back
	log := s.config(s.streams.log, "Perdure: the entries of agents", n, "log.*")
	log.Direct, log.Atomic = true, true
	log.Metadata = map[string]string{keyVersion: strconv.Itoa(Version), keyID: hex.EncodeToString(id)}
	for _, c := range []streamConfig{row, list, claim, log} {
		err := s.try(ctx, func(ctx context.Context) error {
			var out streamInfo
			return s.api(ctx, "STREAM.CREATE", c.Name, c, &out)
		})
		if err != nil && !isAPI(err, errStreamExists) {
			return fmt.Errorf("make stream %s: %w", c.Name, err)
		}
	}
	return nil
}
