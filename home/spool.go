package home

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/internal/disk"
)

const (
	// spoolDir is where a home keeps entries that are arriving, a file for each agent and sender.
	spoolDir = "arriving"
	spoolExt = ".part"
	// maxArrival bounds what one sender can have lie there of one agent, unless a Desk says otherwise, and of others
	// that broke off together; maxSpools how many files of one sender lie there.
	maxArrival = 1 << 30
	maxSpools  = 32
	// maxArrivals bounds what lies there of all senders. Each may have an equal part of it, and more while others do
	// not need theirs.
	maxArrivals = 4 << 30
	// arrivalStep is how much of a transfer comes between two looks at what lies there.
	arrivalStep = 8 << 20
	// spoolFor is how long what came before a connection broke waits for the rest.
	spoolFor = 24 * time.Hour
)

// spool is a file of entries that somebody sends, and of which nothing counts yet. What is whole of it stays when the
// connection breaks, so that it need not be sent again.
type spool struct {
	f     *os.File
	id    perdure.AgentID
	size  int64
	most  int64 // that may lie there
	all   int64 // that may lie there of all senders; zero: it is not looked at
	next  int64 // the size at which to look again
	drop  bool  // nothing of it is of use any more
	names map[perdure.Hash]spooled
}

// spooled is what is known of an entry of a spool.
type spooled struct {
	last bool // none of the others follows it
	came bool // with this transfer: it may have lain there before
}

// spoolFile is the file of an agent that a sender has sent something of.
func (h *Home) spoolFile(id perdure.AgentID, sender string) string {
	who := perdure.HashOf([]byte(sender))
	return filepath.Join(h.Dir, spoolDir, id.String()+"-"+hex.EncodeToString(who[:8])+spoolExt)
}

// openSpool opens the file, with what came before. One transfer at a time has it.
func (h *Home) openSpool(id perdure.AgentID, sender string) (*spool, error) {
	if h.Dir == "" {
		f, err := os.CreateTemp("", "perdure-arriving-*"+spoolExt)
		return &spool{f: f, id: id, most: maxArrival, drop: true, names: map[perdure.Hash]spooled{}}, err
	}
	if err := os.MkdirAll(filepath.Join(h.Dir, spoolDir), 0o700); err != nil {
		return nil, err
	}
	name := h.spoolFile(id, sender)
	if err := sweepSpools(name); err != nil {
		return nil, err
	}
	f, err := disk.OpenLocked(name)
	if errors.Is(err, disk.ErrLocked) {
		err = perdure.WithHint(Busy("another transfer of agent "+id.Short()+" is under way"),
			"try again in a moment: one whose sender is gone gives way")
	}
	if err != nil {
		return nil, err
	}
	s := &spool{f: f, id: id, most: maxArrival, all: maxArrivals}
	if err := s.cut(); err != nil {
		s.drop = true
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// sweepSpools makes room for a file: it forgets what nobody went on with, and of the same sender's others the oldest.
// One who breaks off many transfers loses their own, and keeps nobody else from passing agents on.
func sweepSpools(name string) error {
	names, err := disk.Files(filepath.Dir(name), spoolExt)
	if err != nil {
		return err
	}
	var others []string // of the same sender
	infos := map[string]os.FileInfo{}
	for _, other := range names {
		info, err := os.Stat(other)
		switch {
		case err != nil || other == name:
		case time.Since(info.ModTime()) > spoolFor:
			dropSpool(other)
		case senderOf(other) == senderOf(name):
			others, infos[other] = append(others, other), info
		}
	}
	slices.SortFunc(others, func(a, b string) int { return infos[b].ModTime().Compare(infos[a].ModTime()) })
	size := int64(0)
	for i, other := range others { // the newest first
		if size += infos[other].Size(); i+1 >= maxSpools || size > maxArrival {
			dropSpool(other)
		}
	}
	return nil
}

// lying are the files of a folder, each with its size, oldest first, and how much there is of each sender.
func lying(dir string) (files []lyingFile, of map[string]int64, total int64, err error) {
	names, err := disk.Files(dir, spoolExt)
	if err != nil {
		return nil, nil, 0, err
	}
	of = map[string]int64{}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil { // else it is gone
			files = append(files, lyingFile{name, info.Size(), info.ModTime()})
			of[senderOf(name)] += info.Size()
			total += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b lyingFile) int { return a.at.Compare(b.at) })
	return files, of, total, nil
}

type lyingFile struct {
	name string
	size int64
	at   time.Time
}

// makeRoom refuses a transfer for which there is no room: its sender has too much lying there in other transfers, or
// all senders together have, and this one more than an equal part. What nobody is at work on gives way first, of
// whoever has more than their part.
func (s *spool) makeRoom() error {
	if s.all == 0 || s.size < s.next {
		return nil
	}
	s.next = s.size + arrivalStep
	me := senderOf(s.f.Name())
	over := func(of map[string]int64, total int64, who string) bool {
		return of[who] > max(s.most, maxArrival) || total > s.all && of[who] > s.all/int64(len(of))
	}
	files, of, total, err := lying(filepath.Dir(s.f.Name()))
	if err != nil {
		return err
	}
	for _, f := range files {
		if who := senderOf(f.name); f.name != s.f.Name() && over(of, total, who) && dropSpool(f.name) {
			of[who], total = of[who]-f.size, total-f.size
		}
	}
	if !over(of, total, me) {
		return nil
	}
	return perdure.WithHint(&Error{KindTooMany, fmt.Errorf("%d MiB of agents are arriving from you, and %d MiB "+
		"from all", of[me]>>20, total>>20)}, "try again once other transfers are through: what came of this one stays")
}

// senderOf is the end of the name of a file that says whose it is.
func senderOf(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }

// dropSpool removes a file, unless a transfer has it: that one decides about it. It reports whether it is gone.
func dropSpool(name string) bool {
	f, err := disk.OpenLocked(name)
	if err != nil {
		return false
	}
	return errors.Join(os.Remove(name), f.Close()) == nil // else it is tried again with the next transfer
}

// arriving are the heads of what lies there of an agent, of which more is to come. A transfer that has the file only
// adds to it, so it is read meanwhile: the sender may be gone, which nobody here knows yet.
func (h *Home) arriving(id perdure.AgentID, sender string) ([]perdure.Hash, error) {
	f, err := os.Open(h.spoolFile(id, sender))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &spool{f: f, id: id}
	err = s.look()
	heads := s.heads()
	if len(heads) > exchange.MaxHeads { // all is sent again, and what is there is passed over
		heads = nil
	}
	return heads, errors.Join(err, f.Close())
}

// cut drops what is not whole at the end, and finds out what is there.
func (s *spool) cut() error {
	if err := s.look(); err != nil {
		return err
	}
	return s.f.Truncate(s.size)
}

// look finds out what is there and whole.
func (s *spool) look() error {
	if _, err := s.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	s.size, s.names = 0, map[perdure.Hash]spooled{}
	var b []byte
	for e, err := range perdure.ReadMemory(s.f, perdure.Limits{}) {
		if err != nil || e.ID() != s.id {
			break
		}
		if b, err = e.AppendBinary(b[:0]); err != nil {
			return err
		}
		s.note(e, false)
		s.size += int64(len(b))
	}
	return nil
}

// note keeps that an entry is there.
func (s *spool) note(e *perdure.Entry, came bool) {
	for _, p := range e.Parents {
		if one := s.names[p]; one.last {
			one.last = false
			s.names[p] = one
		}
	}
	s.names[e.Name] = spooled{last: true, came: came}
}

// heads are those of what is there, of which more is to come.
func (s *spool) heads() (all []perdure.Hash) {
	for name, one := range s.names {
		if one.last {
			all = append(all, name)
		}
	}
	return all
}

// roomless says that the disk is full where something arrives. What came of it is dropped: the home needs the room, and
// its agents write nothing without.
func (s *spool) roomless(err error) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	s.drop = true
	return perdure.WithHint(fmt.Errorf("there is no room for agent %s where it is to arrive: the disk is full there",
		s.id.Short()), "make room on the disk of that home, then run the same command again")
}

// fill adds what arrives and was not there yet: a sender who was not told what was begins again. What is whole stays if
// it breaks off. Nobody has a memory in which an entry comes twice: who sends one could go on for ever.
func (s *spool) fill(entries iter.Seq2[*perdure.Entry, error]) error {
	if _, err := s.f.Seek(s.size, io.SeekStart); err != nil {
		return err
	}
	var b []byte
	for e, err := range entries {
		if err != nil {
			var large *http.MaxBytesError
			s.drop = s.drop || errors.Is(err, perdure.ErrRejected) || errors.As(err, &large)
			return err
		}
		if e.ID() != s.id {
			s.drop = true
			return perdure.Invalid(fmt.Errorf("entry %s is of agent %s, and agent %s was announced", e.Name.Short(),
				e.ID().Short(), s.id.Short()))
		}
		one, there := s.names[e.Name]
		if one.came {
			s.drop = true
			return perdure.Invalid(fmt.Errorf("entry %s of agent %s came twice in one transfer", e.Name.Short(),
				s.id.Short()))
		}
		if there {
			one.came = true
			s.names[e.Name] = one
			continue
		}
		if b, err = e.AppendBinary(b[:0]); err != nil {
			return err
		}
		if s.size += int64(len(b)); s.size > s.most {
			s.drop = true
			return perdure.WithHint(&Error{KindTooLarge, fmt.Errorf("more than %d MiB of agent %s came at once",
				s.most>>20, s.id.Short())}, "send it as a file: perdure export, then perdure import")
		}
		if _, err := s.f.Write(b); err != nil { // at once: see arriving
			return err
		}
		s.note(e, true)
		if err := s.makeRoom(); err != nil {
			return err
		}
	}
	return nil
}

// entries are what came, as often as they are asked for.
func (s *spool) entries() iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		perdure.ReadMemory(io.NewSectionReader(s.f, 0, s.size), perdure.Limits{})(yield)
	}
}

// close ends the use of the file, which stays if more is to come.
func (s *spool) close() error {
	var err error
	if s.drop || s.size == 0 {
		err = os.Remove(s.f.Name())
	}
	return errors.Join(err, s.f.Close())
}
