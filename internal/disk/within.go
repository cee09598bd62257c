package disk

import (
	"path/filepath"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Within reports whether a path is dir or below it, however the letters are written: where the file system tells case
// apart, a folder that differs in it alone counts as the same. Links are not followed; a path that cannot be made
// absolute is in no folder.
func Within(path, dir string) bool {
	from, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	to, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	from, to = foldPath(from), foldPath(to)
	sep := string(filepath.Separator)
	return to == from || strings.HasPrefix(to, strings.TrimSuffix(from, sep)+sep)
}

// HomeName is what the folder of a home is called, where nobody names it otherwise.
const HomeName = ".perdure"

// InHome reports whether a path is a folder of that name or below one, however the letters are written.
func InHome(path string) bool {
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if part = foldPath(part); part == HomeName || part == "perdur~1" { // the short name on Windows
			return true
		}
	}
	return false
}

func foldPath(p string) string { return strings.ToLower(strings.ToUpper(norm.NFKC.String(p))) }
