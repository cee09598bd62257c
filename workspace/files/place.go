package files

import (
	"io/fs"
	"path"
	"strings"

	"github.com/perdure/perdure/workspace"
)

// The names of a folder that are not simply those of documents.
const (
	markerName   = ".perdure-folder" // says whose memory a folder is
	ownerName    = ".perdure-owner"  // says which store it belongs to, here: it is not committed
	ignoreName   = ".gitignore"
	progressName = "progress.txt"
	errorsName   = "ERRORS.md"
	learnedName  = "LEARNINGS.md"
	tasksName    = "TASKS.md"
	featuresName = "features.json"
	learnedDir   = "learnings" // where a role keeps what it learned, by month

	teamDir, publicDir, privateDir, scopesDir = "team", "public", "private", "scopes"

	partExt = ".perdure-part" // of a file that is being written
)

// spot is where a document is: its path, and who sees it.
type spot struct {
	path string
	on   workspace.Visibility
}

// plan maps files to documents and back, for one role.
type plan struct{ role, scope string }

// fileOf is the file of a document; none, if it has no place in a folder.
func (p plan) fileOf(s spot) (file string, ok bool) {
	switch s.on.Tier {
	case workspace.Private:
		rest, ok := strings.CutPrefix(s.path, workspace.PrivatePath(p.role, ""))
		if !ok {
			return "", false
		}
		if file = rest; shadows(rest) {
			file = privateDir + "/" + rest
		}
	case workspace.Team, workspace.Public:
		if file = string(s.on.Tier) + "/" + s.path; s.on.Scope != p.scope {
			file = scopesDir + "/" + scopeName.Replace(s.on.Scope) + "/" + file
		}
	case workspace.Custom:
		file = scopesDir + "/" + scopeName.Replace(s.on.Scope) + "/" + string(s.on.Tier) + "/" + s.path
	}
	return file, file != "" && !hidden(file)
}

// shadows reports whether a private note is called as shared documents are, below any number of folders called private:
// its file is one such folder deeper.
func shadows(rest string) bool {
	for below := true; below; {
		rest, below = strings.CutPrefix(rest, privateDir+"/")
	}
	switch first, _, _ := strings.Cut(rest, "/"); first {
	case teamDir, publicDir, scopesDir:
		return true
	}
	return rest == privateDir
}

// A scope is one folder.
var (
	scopeName = strings.NewReplacer("%", "%25", "+", "%2B", "/", "+")
	nameScope = strings.NewReplacer("%25", "%", "%2B", "+", "+", "/")
)

// spotOf is the document of a file; none, if the file is no document's.
func (p plan) spotOf(file string) (s spot, ok bool) {
	if hidden(file) || !fs.ValidPath(file) {
		return s, false
	}
	first, rest, below := strings.Cut(file, "/")
	s.on.Scope = p.scope
	switch {
	case below && (first == teamDir || first == publicDir):
		s.path, s.on.Tier = rest, workspace.Tier(first)
	case below && first == scopesDir:
		scope, rest, _ := strings.Cut(rest, "/")
		tier, rest, _ := strings.Cut(rest, "/")
		s.path, s.on = rest, workspace.Visibility{Tier: workspace.Tier(tier), Scope: nameScope.Replace(scope)}
		if t := s.on.Tier; t != workspace.Team && t != workspace.Public && t != workspace.Custom {
			return s, false
		}
	case below && first == privateDir && shadows(rest):
		s.path, s.on.Tier = workspace.PrivatePath(p.role, rest), workspace.Private
	default:
		s.path, s.on.Tier = workspace.PrivatePath(p.role, file), workspace.Private
	}
	if s.path == "" {
		return s, false
	}
	if back, ok := p.fileOf(s); !ok || back != file {
		return s, false // it would have another file
	}
	return s, true
}

// foreign reports whether a file is no document's, nor one that is kept beside those.
func (p plan) foreign(file string) bool {
	_, ok := p.spotOf(file)
	return !ok && file != markerName && !strings.HasPrefix(file, aboutDir+"/")
}

// whyNot says why a file is no document's; empty: it is hidden.
func (p plan) whyNot(file string) string {
	first, _, below := strings.Cut(file, "/")
	switch {
	case hidden(file):
		return ""
	case !fs.ValidPath(file):
		return "its name is no path"
	case below && first == scopesDir:
		return "documents of other scopes are below scopes/SCOPE/team, public or custom"
	case below && first == learnedDir:
		return "what was learned in a month is a part of " + learnedName + ": write it there"
	}
	return "its name is that of a folder with documents: give it another"
}

// hidden reports whether a name is one that neither people nor editors mean as a text: dot files, what editors leave
// behind, and what git takes for its own folder, as some file systems write that.
func hidden(file string) bool {
	for part := range strings.SplitSeq(file, "/") {
		if strings.HasPrefix(part, ".") || strings.HasSuffix(part, "~") || strings.HasSuffix(part, partExt) ||
			strings.HasPrefix(part, "#") && strings.HasSuffix(part, "#") ||
			strings.HasPrefix(strings.ToLower(part), "git~1") {
			return true
		}
	}
	switch path.Ext(file) {
	case ".swp", ".swo", ".swx", ".tmp", ".bak", ".orig", ".rej":
		return true
	}
	return false
}

// month reports whether a private note is one month of what was learned.
func (p plan) month(s spot) (name string, ok bool) {
	rest, ok := strings.CutPrefix(s.path, workspace.PrivatePath(p.role, learnedDir+"/"))
	name, md := strings.CutSuffix(rest, ".md")
	return name, ok && md && s.on.Tier == workspace.Private && isMonth(name)
}

// isMonth reports whether a text is a month, such as 2026-11.
func isMonth(s string) bool {
	if len(s) != 7 || s[4] != '-' {
		return false
	}
	for i, r := range []byte(s) {
		if i != 4 && (r < '0' || r > '9') {
			return false
		}
	}
	return true
}

// partOf is the file in which another is written before it has its name.
func partOf(file string) string {
	dir, name := path.Split(file)
	return dir + "." + name + partExt
}

// ofPart is the file that a part is of.
func ofPart(part string) string {
	dir, name := path.Split(part)
	return dir + strings.TrimSuffix(strings.TrimPrefix(name, "."), partExt)
}

// isPart reports whether a file is one in which another is written.
func isPart(file string) bool {
	name := path.Base(file)
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, partExt)
}
