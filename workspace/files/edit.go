package files

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/perdure/perdure/view"
)

// edited takes in what a person changed, and shows what became of it. Both says that memory was changed as well.
func (s *syncing) edited(ctx context.Context, file string, r *record, src source, there *content, both bool) error {
	if len(there.raw) == 0 && r.base != nil && *r.base != "" && time.Since(there.info.ModTime()) < settle {
		return errWaits
	}
	if s.looks {
		if d, one := src.(*document); one {
			is, err := d.read(ctx)
			if err == nil {
				err = d.unfit(is, r.base, there.text)
			}
			if err != nil {
				return err
			}
		}
		why := takesOut(src, r.base, there.text)
		if both {
			why = "its document was changed as well; what does not go together with that is a conflict"
		}
		s.report.Files++
		s.add(file, Taken, why)
		return nil
	}
	r.incoming = &there.text
	if err := s.State.keep(ctx, s.id, r); err != nil {
		return err
	}
	if err := s.at("incoming"); err != nil {
		return err
	}
	text, versions, ok, err := s.takeIn(ctx, file, r, src)
	switch {
	case err != nil:
		return err
	case !ok: // it says nothing: it was emptied
		return s.known(ctx, r, there.text, "")
	}
	s.report.Files++
	if text == there.text {
		return s.known(ctx, r, text, versions)
	}
	return s.put(ctx, file, r, there, text, versions)
}

// takeIn takes in what is on its way into memory, and returns what memory has then, as source.now does.
func (s *syncing) takeIn(ctx context.Context, file string, r *record, src source) (text, versions string, ok bool,
	err error) {
	clash, err := src.take(ctx, r.base, r.versions, *r.incoming)
	if err != nil && (s.isAbout(err) || s.guards(*r.incoming)) {
		return "", "", false, s.refused(ctx, file, r, err)
	}
	if err == nil {
		err = s.at("taken")
	}
	if err == nil {
		text, versions, ok, err = src.now(ctx)
	}
	if err != nil {
		return "", "", false, err
	}
	took, out := *r.incoming, takesOut(src, r.base, *r.incoming)
	if r.outgoing == nil { // else it was displaced: what the file shows, resume finds out
		r.base = r.incoming
	}
	r.incoming, r.versions = nil, unsettled+versions
	if err := s.State.keep(ctx, s.id, r); err != nil {
		return "", "", false, err
	}
	if clash == "" && hasMarks(text) {
		clash = marksStay
	}
	s.tookIn(file, r, took, clash, out)
	return text, versions, ok, s.at("based")
}

// marksStay says that a text was taken in as it is.
const marksStay = "marks are still in it: bring together what is between them, and take them out"

// takesOut says that an edit takes lines out, and where they are: an editor that was open while a sync brought them in
// takes them out unseen.
func takesOut(src source, base *string, text string) string {
	d, is := src.(*document)
	if !is || base == nil {
		return ""
	}
	was, now := split(*base), split(text)
	out, at, to := 0, 0, 0
	for _, m := range append(matches(was, now), match{len(was), len(now), 0}) {
		out += max(0, said(was[at:m.a])-said(now[to:m.b]))
		at, to = m.a+m.n, m.b+m.n
	}
	if out == 0 {
		return ""
	}
	return view.Several(int64(out), "line") + " fewer than a sync wrote; perdure doc history " + d.path +
		" lists the versions that have them"
}

// said is how many lines are not empty.
func said(lines []string) (n int) {
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	return n
}

// tookIn reports that a text was taken in; out says what an edit takes out.
func (s *syncing) tookIn(file string, r *record, text, clash, out string) {
	switch {
	case clash != "":
		s.add(file, Conflict, clash)
	case r.lost:
		s.add(file, Taken, "memory had lost it")
	case isJSON(file) && !json.Valid([]byte(text)):
		s.add(file, Taken, "it is no JSON as it stands")
	default:
		s.add(file, Taken, out)
	}
}

// refused leaves to a person what cannot be in memory: it is in the file, or is put there again.
func (s *syncing) refused(ctx context.Context, file string, r *record, why error) error {
	there, err := s.tree.read(file)
	switch {
	case err != nil:
		return s.ofFile(err)
	case there == nil:
		err = s.tree.create(file, *r.incoming)
	case there.text != *r.incoming && r.outgoing != nil && there.text == *r.outgoing:
		_, err = s.tree.replace(file, there, *r.incoming)
		err = errors.Join(err, s.tree.drop(file))
	}
	if err != nil {
		return s.ofFile(err)
	}
	r.incoming, r.outgoing = nil, nil
	return errors.Join(fileError{why}, s.State.keep(ctx, s.id, r))
}

// guards reports whether a text holds what must not be in memory.
func (s *syncing) guards(text string) bool {
	g := s.person().Node.Guard
	return g != nil && g.Check([]byte(text)) != nil
}

// resume ends what a killed process began with a file.
func (s *syncing) resume(ctx context.Context, file string, r *record, src source) error {
	if s.parts[file] && !s.looks {
		if err := s.leftover(ctx, file, r); err != nil {
			return err
		}
		delete(s.parts, file)
	}
	if r.disown(); s.looks {
		return nil
	}
	if r.incoming != nil {
		if _, _, _, err := s.takeIn(ctx, file, r, src); err != nil {
			return err
		}
		r.disown() // it may not be what is in the file
	}
	if r.outgoing == nil {
		return nil
	}
	there, err := s.tree.read(file)
	if err != nil {
		return s.ofFile(err)
	}
	if there == nil { // it was never made, or taken away since
		return nil
	}
	if r.base == nil || nearer(there.text, *r.outgoing, *r.base) {
		base := shown(*r.outgoing, there.text, r.base)
		r.base = &base
	}
	r.outgoing = nil
	return s.State.keep(ctx, s.id, r)
}

// nearer reports whether a text was made of one, rather than of another.
func nearer(text, one, other string) bool {
	lines := split(text)
	count := func(of string) int {
		theirs := split(of)
		return 2*len(common(theirs, lines)) - len(theirs)
	}
	return text == one || text != other && count(one) >= count(other)
}

// shown is what of a text a person has seen for certain, who may have been shown it or not: what stands in their file,
// and what they were shown before. Nobody takes away what they have not seen.
func shown(text, file string, before *string) string {
	if text == file || before != nil && text == *before {
		return text
	}
	lines := split(text)
	in, was := partners(lines, split(file)), make([]int, len(lines))
	for i := range was {
		was[i] = -1
	}
	if before != nil {
		was = partners(lines, split(*before))
	}
	var seen []string
	for i, line := range lines {
		if in[i] >= 0 || was[i] >= 0 {
			seen = append(seen, line+"\n")
		}
	}
	return strings.Join(seen, "")
}

// leftover is about the part of a file that a killed process left: what it was writing, or what it had replaced.
func (s *syncing) leftover(ctx context.Context, file string, r *record) error {
	part, err := s.tree.read(partOf(file))
	if err != nil {
		return s.ofFile(err)
	}
	there, err := s.tree.read(file)
	if err != nil {
		return s.ofFile(err)
	}
	ours := part == nil || r.base != nil && part.text == *r.base || r.outgoing != nil &&
		strings.HasPrefix(*r.outgoing, part.text) || there != nil && part.text == there.text ||
		strings.Trim(part.text, "\x00") == ""
	if !ours && r.incoming == nil {
		r.incoming = &part.text
		if err := s.State.keep(ctx, s.id, r); err != nil {
			return err
		}
	}
	return s.tree.drop(file)
}
