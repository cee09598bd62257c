package imports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/workspace"
)

// The formats.
const (
	Auto       = "auto"
	ClaudeCode = "claude-code"
	OpenAI     = "openai"
	MCPMemory  = "mcp-memory"
	PRD        = "prd"
	Markdown   = "markdown"
)

// Formats are the names of the formats, Auto first.
func Formats() []string { return []string{Auto, ClaudeCode, OpenAI, MCPMemory, PRD, Markdown} }

// maxFile bounds a file: it is read whole.
const maxFile = 256 << 20

// Problem is something that was not taken in, and why.
type Problem struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	Why  string `json:"why"`
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Why
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Why)
}

// Source says what to read.
type Source struct {
	Path   string // a file, or a folder
	Format string // empty, Auto: whatever each file is in
	To     string // the folder that documents go below; empty: that of their format
}

// Read is what was found.
type Read struct {
	Problems []Problem
	// Left counts what is no part of a conversation or a document, by what it is: records of settings, files of other
	// kinds. Nothing else is left out without a problem.
	Left map[string]int
}

// reader reads one source.
type reader struct {
	Read
	source Source
	give   func(workspace.Foreign) error
	at     string            // where the source is, whatever it was called
	names  map[string]string // the paths that were given, and what for
}

// Each calls give with each document that a source holds. What cannot be read is in the problems; the error is that of
// give, or says that the source cannot be read at all.
func (s Source) Each(give func(workspace.Foreign) error) (Read, error) {
	if s.Format == "" {
		s.Format = Auto
	}
	if !slices.Contains(Formats(), s.Format) {
		return Read{}, perdure.Invalid(fmt.Errorf("format %q: want %s", s.Format, strings.Join(Formats(), ", ")))
	}
	r := &reader{source: s, give: give, names: map[string]string{}, Read: Read{Left: map[string]int{}}}
	info, err := os.Stat(s.Path)
	if err == nil {
		r.at, err = filepath.EvalSymlinks(s.Path)
	}
	if err == nil {
		r.at, err = filepath.Abs(r.at)
	}
	switch {
	case err != nil:
		return r.Read, err
	case info.IsDir():
		err = r.folder()
	default:
		name := filepath.Base(s.Path)
		var b []byte
		if b, err = disk.ReadFile(s.Path, maxFile); err == nil {
			err = r.file(file{name: name, shown: filepath.ToSlash(s.Path), text: b, at: info.ModTime(), alone: true})
		}
	}
	return r.Read, err
}

// file is a file that is read.
type file struct {
	name  string // below the folder that is imported
	shown string
	text  []byte
	at    time.Time
	alone bool // it was named itself: then it must be something that can be imported
}

func (r *reader) problem(f *file, line int, format string, args ...any) {
	r.Problems = append(r.Problems, Problem{f.shown, line, fmt.Sprintf(format, args...)})
}

// folder reads every file of a folder. It follows no links and enters no hidden folders.
func (r *reader) folder() error {
	root, err := os.OpenRoot(r.source.Path)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // it was only read from
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		f := file{name: name, shown: path.Join(filepath.ToSlash(r.source.Path), name)}
		switch hidden := name != "." && strings.HasPrefix(d.Name(), "."); {
		case err != nil:
			r.problem(&f, 0, "%v", err)
		case d.IsDir() && (hidden || d.Name() == "node_modules"):
			r.Left["hidden folders"]++
			return fs.SkipDir
		case d.IsDir():
		case hidden:
			r.Left["hidden files"]++
		case !d.Type().IsRegular():
			r.problem(&f, 0, "it is a link or no regular file; import what it stands for by its own name")
		case !slices.Contains([]string{".md", ".markdown", ".jsonl", ".json"}, strings.ToLower(path.Ext(name))):
			r.Left["files of other kinds"]++
		default:
			return r.entry(root, f, d)
		}
		return nil
	})
}

func (r *reader) entry(root *os.Root, f file, d fs.DirEntry) error {
	info, err := d.Info()
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("it has %d bytes, and %d are the most", info.Size(), maxFile)
	}
	if err == nil {
		f.at = info.ModTime()
		f.text, err = root.ReadFile(f.name)
	}
	if err != nil {
		r.problem(&f, 0, "%v", err)
		return nil
	}
	return r.file(f)
}

// file reads a file in the format it is in.
func (r *reader) file(f file) error {
	format := r.source.Format
	found := detect(&f)
	switch {
	case format == Auto:
		format = found
	case !f.alone && found != format: // of a folder only what was asked for
		format = ""
	}
	switch format {
	case ClaudeCode:
		return r.claudeCode(&f)
	case OpenAI:
		return r.openAI(&f)
	case MCPMemory:
		return r.mcpMemory(&f)
	case PRD:
		return r.prd(&f)
	case Markdown:
		return r.markdown(&f)
	}
	if f.alone {
		return perdure.WithHint(perdure.Invalid(fmt.Errorf("%s: it is in none of the formats that can be imported",
			f.shown)), "say which one it is with --format: "+strings.Join(Formats()[1:], ", "))
	}
	r.Left["files of other kinds"]++
	return nil
}

// detect is the format of a file, by its name and the first thing in it; empty: none that is known.
func detect(f *file) string {
	switch ext := strings.ToLower(path.Ext(f.name)); ext {
	case ".md", ".markdown", ".txt":
		return Markdown
	case ".jsonl", ".json", ".ndjson", "":
	default:
		return ""
	}
	var v any
	if json.NewDecoder(bytes.NewReader(f.text)).Decode(&v) == nil && formatOf(v) != "" {
		return formatOf(v)
	}
	looked, format := 0, ""
	_ = lines(f.text, func(_ int, line []byte) error { // the first lines may be broken
		v = nil
		if looked++; json.Unmarshal(line, &v) == nil {
			format = formatOf(v)
		}
		if format != "" || looked == maxLooked {
			return io.EOF
		}
		return nil
	})
	return format
}

// maxLooked is how many lines of a file are looked at to find out what it is.
const maxLooked = 100

// formatOf is the format that a value belongs to.
func formatOf(v any) string {
	if l, ok := v.([]any); ok && len(l) > 0 {
		v = l[0]
	}
	m, _ := v.(map[string]any)
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(n string) bool { _, ok := m[n]; return !ok })
	}
	switch {
	case m["type"] == "entity" && has("name"), m["type"] == "relation" && has("from", "to"):
		return MCPMemory
	case has("sessionId"), has("summary", "leafUuid"), m["type"] == "file-history-snapshot":
		return ClaudeCode
	case has("messages"), has("mapping"), has("role", "content"), has("role", "tool_calls"), has("choices"):
		return OpenAI
	case has("userStories"), has("stories"), has("features"), has("passes"):
		return PRD
	}
	return ""
}

// lines calls f with each line that is not blank, and its number.
func lines(text []byte, f func(number int, line []byte) error) error {
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if line = bytes.TrimSpace(line); number == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if len(line) == 0 {
			continue
		}
		if err := f(number, line); err != nil {
			return err
		}
	}
	return nil
}

// fileOrigin is the origin of what only its file tells from others.
func (r *reader) fileOrigin(f *file) string {
	if f.alone {
		return filepath.ToSlash(r.at)
	}
	return path.Join(filepath.ToSlash(r.at), f.name)
}

// document gives a document at a path that no other has. Whoever comes second is told apart by a digest of its name.
func (r *reader) document(x workspace.Foreign, f *file, key string) error {
	if r.source.To != "" {
		x.Path = path.Join(r.source.To, x.Path)
	}
	if was, ok := r.names[x.Path]; ok && was != key {
		ext := path.Ext(x.Path)
		x.Path = strings.TrimSuffix(x.Path, ext) + "-" + digest(key) + ext
	}
	r.names[x.Path] = key
	x.Source = f.shown
	if !utf8.ValidString(x.Text) {
		r.problem(f, 0, "it is not UTF-8; documents are text")
		return nil
	}
	return r.give(x)
}

// Counts are the counts of what was left out, in words and in order.
func (r *Read) Counts() []string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(r.Left)) {
		n := r.Left[what]
		if n == 1 {
			words := strings.SplitN(what, " ", 3)
			for i, word := range words[:min(2, len(words))] {
				words[i] = strings.TrimSuffix(word, "s")
			}
			what = strings.Join(words, " ")
		}
		all = append(all, fmt.Sprintf("%d %s", n, what))
	}
	return all
}
