package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	client "github.com/nats-io/nats.go"

	"github.com/perdure/perdure"
)

// The part of JetStream's API that is needed, as requests. Reading goes to the leader of a stream unless it is said
// otherwise: other servers may lag behind what was acknowledged.

// apiError is what JetStream says went wrong.
type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *apiError) Error() string { return e.Description + " (" + strconv.Itoa(e.ErrCode) + ")" }

// Numbers of errors.
const (
	errNoMessage    = 10037
	errNoStream     = 10059
	errStreamExists = 10058
	errWrongLast    = 10071
	errWrongLastToo = 10164
)

// errNotEnabled are those of servers and accounts without JetStream.
var errNotEnabled = []int{10039, 10076}

func isAPI(err error, codes ...int) bool {
	var api *apiError
	if !errors.As(err, &api) {
		return false
	}
	for _, c := range codes {
		if api.ErrCode == c {
			return true
		}
	}
	return false
}

// api makes one request of the API.
func (s *Store) api(ctx context.Context, verb, stream string, in, out any) error {
	body := []byte(nil)
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	m, err := s.send(ctx, &client.Msg{Subject: s.verb(verb, stream), Data: body})
	if err != nil {
		return err
	}
	return jsonOf(m, out)
}

// verb is the subject of a request of the API.
func (s *Store) verb(verb, stream string) string {
	subject := "$JS.API." + verb
	if s.name.domain != "" {
		subject = "$JS." + s.name.domain + ".API." + verb
	}
	if stream != "" {
		subject += "." + stream
	}
	return subject
}

// message is one of a stream.
type message struct {
	Subject string    `json:"subject"`
	Seq     uint64    `json:"seq"`
	Data    []byte    `json:"data"`
	Time    time.Time `json:"time"`
}

// query says which message is wanted.
type query struct {
	Seq  uint64 `json:"seq,omitempty"`
	Last string `json:"last_by_subj,omitempty"`
	Next string `json:"next_by_subj,omitempty"`
}

// get reads a message from the leader; nil: there is none.
func (s *Store) get(ctx context.Context, stream string, q query) (m *message, err error) {
	err = s.try(ctx, func(ctx context.Context) error {
		var out struct {
			Message *message `json:"message"`
		}
		err := s.api(ctx, "STREAM.MSG.GET", stream, q, &out)
		if m = out.Message; isAPI(err, errNoMessage) {
			m, err = nil, nil
		}
		return err
	})
	return m, err
}

// ack is how a server acknowledges a message, or says that it does not take it.
type ack struct {
	Seq   uint64    `json:"seq"`
	Count int       `json:"count"` // of a batch
	Error *apiError `json:"error"`
}

// errMoved says that a message was not stored since another came first.
var errMoved = errors.New("another message came first")

// anything says that no message is expected to be the last.
const anything = ^uint64(0)

// publish sends a message to be stored, once. With an expected number, it is stored only if that is the last message
// of its subject; zero: there is none.
func (s *Store) publish(ctx context.Context, subject string, h client.Header, data []byte, expected uint64) (uint64,
	error) {
	p := posting{subject: subject, header: h, data: data, expected: expected}
	answer, err := s.send(ctx, p.message())
	if err != nil {
		return 0, err
	}
	var out ack
	err = json.Unmarshal(answer.Data, &out)
	switch {
	case err != nil:
		return 0, fmt.Errorf("read answer of the server: %w", err)
	case out.Error != nil && isAPI(out.Error, errWrongLast, errWrongLastToo):
		return 0, errMoved
	case out.Error != nil:
		return 0, out.Error
	case out.Seq == 0:
		return 0, errors.New("the server acknowledged a message without saying where it is")
	}
	return out.Seq, nil
}

// store is publish until it has happened. It may happen twice: only for what does not matter then.
func (s *Store) store(ctx context.Context, subject string, data []byte, expected uint64) (seq uint64, err error) {
	err = s.try(ctx, func(ctx context.Context) error {
		seq, err = s.publish(ctx, subject, nil, data, expected)
		return err
	})
	return seq, err
}

// remove deletes a message of a stream and overwrites it. One that is not there is no error.
func (s *Store) remove(ctx context.Context, stream string, seq uint64) error {
	return s.try(ctx, func(ctx context.Context) error {
		var out struct{}
		in := map[string]any{"seq": seq}
		err := s.api(ctx, "STREAM.MSG.DELETE", stream, in, &out)
		if isAPI(err, errNoMessage, 10043, 10057) { // gone already
			if m, e := s.get(ctx, stream, query{Seq: seq}); e != nil || m == nil {
				return e
			}
		}
		return err
	})
}

// purge removes the messages of a subject before one; zero: all of them.
func (s *Store) purge(ctx context.Context, stream, subject string, before uint64) error {
	return s.try(ctx, func(ctx context.Context) error {
		var out struct{}
		in := map[string]any{"filter": subject}
		if before > 0 {
			in["seq"] = before
		}
		return s.api(ctx, "STREAM.PURGE", stream, in, &out)
	})
}

// streamInfo is what a server says of a stream.
type streamInfo struct {
	Config  streamConfig `json:"config"`
	Created time.Time    `json:"created"`
	Now     time.Time    `json:"ts"`    // by the clock of the server
	Total   int          `json:"total"` // of subjects, of which State has a part
	State   struct {
		Messages uint64            `json:"messages"`
		Named    int               `json:"num_subjects"`
		FirstSeq uint64            `json:"first_seq"`
		LastSeq  uint64            `json:"last_seq"`
		Subjects map[string]uint64 `json:"subjects"`
	} `json:"state"`
	Cluster *struct {
		Name     string `json:"name"`
		Leader   string `json:"leader"`
		Replicas []struct {
			Name string `json:"name"`
		} `json:"replicas"`
	} `json:"cluster"`
}

// servers are the names of those that keep a copy, also of those that are down.
func (i *streamInfo) servers() (out []string) {
	if i.Cluster == nil {
		return nil
	}
	if i.Cluster.Leader != "" {
		out = append(out, i.Cluster.Leader)
	}
	for _, r := range i.Cluster.Replicas {
		out = append(out, r.Name)
	}
	return out
}

// info asks for a stream.
func (s *Store) info(ctx context.Context, stream string) (out *streamInfo, err error) {
	err = s.try(ctx, func(ctx context.Context) error {
		out = new(streamInfo)
		return s.api(ctx, "STREAM.INFO", stream, nil, out)
	})
	if isAPI(err, errNoStream) {
		err = fmt.Errorf("%w: make an agent there first, with perdure new", perdure.ErrNotFound)
	}
	return out, err
}

// subjects are those that a filter selects of the ones on which a stream has messages.
func (s *Store) subjects(ctx context.Context, stream, filter string) ([]string, error) {
	out := map[string]uint64{}
	for from := 0; ; {
		var info streamInfo
		err := s.try(ctx, func(ctx context.Context) error {
			info = streamInfo{}
			in := map[string]any{"subjects_filter": filter, "offset": from}
			return s.api(ctx, "STREAM.INFO", stream, in, &info)
		})
		if err != nil {
			return nil, err
		}
		maps.Copy(out, info.State.Subjects)
		if from += len(info.State.Subjects); len(info.State.Subjects) == 0 || from >= info.Total {
			return slices.Sorted(maps.Keys(out)), nil
		}
	}
}

// lastOf is the number of the last message of a stream that its leader can read; zero: there is none.
func (s *Store) lastOf(ctx context.Context, stream, subjects string) (uint64, error) {
	m, err := s.get(ctx, stream, query{Last: ">"})
	if err == nil && m == nil { // there is none, or the last was taken out
		m, err = s.get(ctx, stream, query{Last: subjects})
	}
	if err == nil && m == nil { // or it cannot be read
		return s.legibleBefore(ctx, stream)
	}
	if err != nil || m == nil {
		return 0, err
	}
	return m.Seq, nil
}

// legibleBefore is lastOf a stream whose last message cannot be read. Many numbers before that may have no message.
func (s *Store) legibleBefore(ctx context.Context, stream string) (found uint64, err error) {
	info, err := s.info(ctx, stream)
	if err != nil || info.State.Messages == 0 {
		return 0, err
	}
	for low, high := info.State.FirstSeq, info.State.LastSeq; low <= high; {
		middle := low + (high-low)/2
		m, err := s.get(ctx, stream, query{Seq: middle, Next: ">"})
		if err != nil {
			return 0, err
		}
		if m == nil {
			high = middle - 1
		} else {
			found, low = m.Seq, m.Seq+1
		}
	}
	return found, nil
}
