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

func foldPath(p string) string { return strings.ToLower(strings.ToUpper(norm.NFKC.String(p))) }
