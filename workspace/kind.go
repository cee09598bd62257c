package workspace

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/perdure/perdure"
)

// The kinds of documents. Others may be written, too.
const (
	KindNote        = "note"
	KindObservation = "observation"
	KindDecision    = "decision"
	KindBug         = "bug-report"
	KindFeature     = "feature-request"
	KindDesign      = "design-note"
	KindIncident    = "incident"
	KindPlan        = "plan"
	KindPractice    = "practice-note"
	KindIndex       = "index"
	KindSession     = "session" // the summary of a session
	KindState       = "state"   // the current state of a role
	// KindTranscript is what was said elsewhere: each turn of it, which begins with a heading, is found by itself.
	KindTranscript = "transcript"
)

// folders are where documents of each kind belong.
var folders = map[string]string{
	KindNote: "notes", KindObservation: "observations", KindDecision: "decisions", KindBug: "bugs",
	KindFeature: "features",
	KindDesign:  "designs", KindIncident: "incidents", KindPlan: "plans", KindPractice: "practices",
	KindIndex: "indexes",
}

// Kinds are the kinds that have a canonical place, by name.
func Kinds() []string {
	kinds := make([]string, 0, len(folders))
	for k := range folders {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	return kinds
}

// checkKinds refuses a kind that is none of the usual ones, and that nothing is of which the reader sees.
// As kinds are open, a slip of the pen would find nothing.
func (r *Reader) checkKinds(ctx context.Context, kinds []string) error {
	usual := append(Kinds(), KindSession, KindState, KindTranscript, KindTurn, KindResult)
	for _, k := range kinds {
		if slices.Contains(usual, k) {
			continue
		}
		some, err := r.List(ctx, Listed{Kind: k, Limit: 1})
		if err != nil {
			return err
		}
		if len(some) == 0 {
			err := perdure.Missing(fmt.Sprintf("nothing here is of the kind %q", clip(k, maxTitle)))
			return perdure.WithHint(err, "the usual kinds are "+strings.Join(usual, ", "))
		}
	}
	return nil
}

// unowned is a path without the role whose private place it is in.
func unowned(path string) string {
	if rest, ok := strings.CutPrefix(path, rolesDir+"/"); ok {
		_, path, _ = strings.Cut(rest, "/")
	}
	return path
}

// canonical reports whether a path is the folder where documents of a kind belong.
func canonical(path string) bool {
	path = unowned(path)
	return path == sessionsDir || slices.Contains(slices.Collect(maps.Values(folders)), path)
}

// KindAt is the kind of the documents whose canonical place a path is in; note, if it is in none.
func KindAt(path string) string {
	path = unowned(path)
	first, _, _ := strings.Cut(path, "/")
	switch {
	case path == stateName:
		return KindState
	case first == sessionsDir:
		return KindSession
	}
	for kind, folder := range folders {
		if folder == first {
			return kind
		}
	}
	return KindNote
}

// placeFor is the canonical place of a document, by its kind and title: decisions/use-sqlite.md.
func placeFor(kind, title string) string {
	folder := folders[kind]
	if folder == "" {
		folder = folders[KindNote]
	}
	return folder + "/" + slug(title) + ".md"
}

// maxSlug bounds the name of a document made from its title.
const maxSlug = 64

// slug is a title as the name of a file: its words in any script, as far as they fit. A script that does not part words
// is cut between characters.
func slug(title string) string {
	words := strings.FieldsFunc(strings.ToLower(norm.NFC.String(title)),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	name := ""
	for _, w := range words {
		if len(name)+len(w) > maxSlug {
			if name == "" {
				name = "-" + strings.TrimSuffix(clip(w, maxSlug), "…")
			}
			break
		}
		name += "-" + w
	}
	if name = strings.TrimPrefix(name, "-"); name == "" {
		return "untitled"
	}
	return name
}

// TitleOf is the title of a text that has none of its own: its first heading, or its first line.
func TitleOf(path, text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#"))
		if line != "" {
			return clip(line, maxTitle)
		}
	}
	return path
}

// maxTitle bounds a title that is taken from a text.
const maxTitle = 120

// clip is the beginning of a text, by whole characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// CheckRole refuses the name of a role that cannot be a folder.
func CheckRole(role string) error {
	if role == "" || len(role) > maxSlug || strings.ContainsFunc(role, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r)
	}) || strings.Trim(role, ".") == "" {
		return perdure.Invalid(fmt.Errorf("role %q: want letters, digits, - and _, at most %d bytes",
			clip(role, maxSlug), maxSlug))
	}
	return perdure.CheckName("a role", role)
}
