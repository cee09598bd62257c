package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/perdure/perdure"
)

// Files are the tools that work on the files below a folder: files.read, files.list and files.stat, which change
// nothing; files.write and files.remove, which are idempotent; files.append, which is done once. Paths are relative,
// with slashes, in their clean form (a/b, never ./a/b or a/../a/b), and lead through no symbolic link: what policy
// judged is what is read or written. A call reads or writes at most MaxFile bytes, and only ordinary files.
//
// Exclude names files and folders of this machine that the tools keep out of even if they are below root, such as the
// home of the node. Nothing in them is read, written, listed or removed, by whatever path, link or hard link.
//
// Content is text where it is valid UTF-8, and bytes where it is not. What is read out of files, and the names in
// folders, is marked as text from somebody not trusted. The caller closes root when the tools are no longer called.
func Files(root *os.Root, exclude ...string) []perdure.Tool {
	f := files{root, realPath(root.Name()), newExclusions(exclude)}
	clean := cleaners{"path": cleanText(cleanPath)}
	spec := func(name, description string, effect perdure.Effect) perdure.Spec {
		return perdure.Spec{Name: "files." + name, Description: description, Effect: effect, Deadline: DefaultTimeout}
	}
	return []perdure.Tool{
		newTyped(spec("read", "reads a file, or a part of it", perdure.Read), foreign(reported(f.read))).cleaned(clean),
		newTyped(spec("list", "lists a folder", perdure.Read), foreign(reported(f.list))).cleaned(clean),
		newTyped(spec("stat", "says what is at a path: file, folder or nothing, its size and when it was changed",
			perdure.Read), reported(f.stat)).cleaned(clean),
		newTyped(spec("write", "writes a file whole, in one step; folders on the way are made", perdure.Idempotent),
			reported(f.write)).cleaned(clean),
		newTyped(spec("append", "adds to the end of a file, which is made if there is none", perdure.Once),
			reported(f.append)).cleaned(clean),
		newTyped(spec("remove", "removes a file or an empty folder; it is no error if there is none",
			perdure.Idempotent), reported(f.remove)).cleaned(clean),
	}
}

type files struct {
	root    *os.Root
	dir     string // of root, without links
	outside exclusions
}

type pathArgs struct {
	Path string `json:"path" jsonschema:"the path, relative, with slashes"`
}

type readArgs struct {
	Path   string `json:"path" jsonschema:"the path of the file, relative, with slashes"`
	Offset int64  `json:"offset,omitempty" jsonschema:"the byte to begin at"`
	Limit  int64  `json:"limit,omitempty" jsonschema:"the number of bytes to read at most"`
}

type writeArgs struct {
	Path  string  `json:"path" jsonschema:"the path of the file, relative, with slashes"`
	Text  *string `json:"text,omitempty" jsonschema:"the content, if it is text"`
	Bytes []byte  `json:"bytes,omitempty" jsonschema:"the content as base64, if it is not text"`
}

// reported makes the value a file tool returns its result, and an error that the file system reports a failed outcome.
func reported[Args any](fn func(context.Context, Args) (map[string]any, error)) func(context.Context, perdure.Call,
	Args) (perdure.Result, error) {
	return func(ctx context.Context, _ perdure.Call, args Args) (perdure.Result, error) {
		if err := ctx.Err(); err != nil {
			return perdure.Result{}, err
		}
		v, err := fn(ctx, args)
		if errors.Is(err, perdure.ErrInDoubt) {
			return perdure.Result{}, err
		}
		if err != nil {
			return refused("%v", err), nil
		}
		note, _ := v[leftOut].(string)
		delete(v, leftOut)
		data, err := perdure.DataOf(v)
		res := perdure.Result{Data: data, Note: note}
		if note != "" {
			res.Signal = perdure.Partial
		}
		return res, err
	}
}

// leftOut is where the value of a file tool says what is left out of it because it is too much, not because a part was
// asked for. It is no part of the result.
const leftOut = "\x00left out"

// foreign marks what a tool returns as text from somebody not trusted.
func foreign[Args any](fn func(context.Context, perdure.Call, Args) (perdure.Result, error)) func(context.Context,
	perdure.Call, Args) (perdure.Result, error) {
	return func(ctx context.Context, c perdure.Call, args Args) (perdure.Result, error) {
		res, err := fn(ctx, c, args)
		res.Taint = len(res.Data) > 0
		return res, err
	}
}

// allowed refuses a path that leads through a link, or to what the tools keep out of. The last part of a path may be a
// link where the link itself is meant.
func (f files) allowed(name string, itself bool) error {
	excluded := fmt.Errorf("%s is outside of what the tools may reach", name)
	if f.outside.hold(filepath.Join(f.dir, filepath.FromSlash(name))) || f.outside.surround(f.dir) {
		return excluded
	}
	for end := 0; end < len(name); end++ {
		if i := strings.IndexByte(name[end:], '/'); i >= 0 {
			end += i
		} else {
			end = len(name)
		}
		info, err := f.root.Lstat(name[:end])
		if err != nil {
			return nil // the rest is not there; what is then tried says so
		}
		if f.outside.are(info) {
			return excluded
		}
		if info.Mode()&fs.ModeSymlink != 0 && (end < len(name) || !itself) {
			to, _ := f.root.Readlink(name[:end])
			return fmt.Errorf("%s is a link to %q: links are not followed; give the path it leads to", name[:end],
				clip(to))
		}
	}
	return nil
}

// open opens an ordinary file. What is not one is refused before anything of it is read: a pipe would never answer.
func (f files) open(name string, flag int, perm fs.FileMode) (*os.File, fs.FileInfo, error) {
	file, err := f.root.OpenFile(name, flag|syscall.O_NONBLOCK, perm)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is a %s, not a file", name, kindOf(info.Mode()))
	}
	if err == nil && (f.outside.are(info) || f.outside.link(info)) {
		err = fmt.Errorf("%s is outside of what the tools may reach", name)
	}
	if err == nil && isKey(file) {
		err = fmt.Errorf("%s is a private key, which no tool for files reads", name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// isKey reports whether a file that can be read is the private key of a home, wherever that is and whatever part of it
// was asked for: who has it signs as its owner.
func isKey(file *os.File) bool {
	b := make([]byte, len(keyMark))
	n, _ := file.ReadAt(b, 0) // what cannot be read, or is shorter, is none
	return string(b[:n]) == keyMark
}

// keyMark is what a private key begins with (perdure.Signer.PrivateText).
const keyMark = "PRIVATE+KEY+"

func (f files) read(ctx context.Context, a readArgs) (map[string]any, error) {
	name := a.Path
	if err := f.allowed(name, false); err != nil {
		return nil, err
	}
	if a.Offset < 0 || a.Limit < 0 {
		return nil, errors.New("fields offset and limit: want zero or more")
	}
	file, info, err := f.open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	limit := int64(MaxFile)
	if a.Limit > 0 {
		limit = min(limit, a.Limit)
	}
	b, end, err := part(redactorOf(ctx), file, a.Offset, limit)
	if err != nil {
		return nil, err
	}
	v := map[string]any{"size": info.Size()}
	more := end < info.Size()
	put(v, content(b, more))
	if more {
		v["truncated"] = true
	}
	if more && limit == MaxFile {
		v[leftOut] = fmt.Sprintf("the file goes on: it has %d bytes, and %d are the most that are read at once; go "+
			"on at offset %d", info.Size(), int64(MaxFile), end)
	}
	return v, nil
}

// part is limit bytes of a file from an offset on, without the secrets that its ends would part, and where it ends in
// the file.
func part(r *redactor, file io.ReaderAt, offset, limit int64) (b []byte, end int64, err error) {
	margin := int64(r.margin())
	begin := max(0, offset-margin)
	b, err = io.ReadAll(io.NewSectionReader(file, begin, offset-begin+limit+margin))
	if err != nil {
		return nil, 0, err
	}
	from := min(offset-begin, int64(len(b)))
	to := min(from+limit, int64(len(b)))
	return r.cut(b, int(from), int(to)), begin + to, nil
}

// put adds content under the name that says which it is.
func put(v map[string]any, content any) {
	if b, ok := content.([]byte); ok {
		v["bytes"] = b
		return
	}
	v["text"] = content
}

func (f files) list(_ context.Context, a pathArgs) (map[string]any, error) {
	name := a.Path
	if err := f.allowed(name, false); err != nil {
		return nil, err
	}
	info, err := f.root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is a %s, not a folder", name, kindOf(info.Mode()))
	}
	dir, err := f.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.ReadDir(maxList + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	truncated := len(entries) > maxList
	entries = entries[:min(len(entries), maxList)]
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	list := make([]any, 0, len(entries))
	for _, e := range entries {
		if f.hides(name, e) {
			continue
		}
		item := map[string]any{"name": strings.ToValidUTF8(e.Name(), "\uFFFD"), "kind": kindOf(e.Type())}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			item["size"] = info.Size()
		}
		list = append(list, item)
	}
	v := map[string]any{"entries": list}
	if truncated {
		v["truncated"], v[leftOut] = true, fmt.Sprintf("the folder has more than %d entries: the rest is left out",
			maxList)
	}
	return v, nil
}

// hides reports whether a file or folder in the folder dir is one the tools keep out of.
func (f files) hides(dir string, e fs.DirEntry) bool {
	info, err := e.Info()
	return f.outside.hold(filepath.Join(f.dir, filepath.FromSlash(dir), e.Name())) || err == nil && f.outside.are(info)
}

func (f files) stat(_ context.Context, a pathArgs) (map[string]any, error) {
	name := a.Path
	if err := f.allowed(name, true); err != nil {
		return nil, err
	}
	info, err := f.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]any{"kind": "nothing"}, nil
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{"kind": kindOf(info.Mode()), "size": info.Size(),
		"changed": info.ModTime().UTC().Format(time.RFC3339Nano)}, nil
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "file"
	case m.IsDir():
		return "folder"
	case m&fs.ModeSymlink != 0:
		return "link"
	}
	return "special file"
}
