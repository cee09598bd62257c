package capsule

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
)

// Ext is how the names of capsule files end.
const Ext = ".agent"

// FileName is the name of an agent's file: what of its name is safe on every system, and the beginning of its id.
func FileName(name string, id perdure.AgentID) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '_':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 48 {
			break
		}
	}
	safe := strings.TrimSuffix(b.String(), "-")
	if safe == "" {
		safe = "agent"
	}
	return safe + "-" + id.Short() + Ext
}

// checkName refuses a name that is more than the name of a file.
func checkName(name string) error {
	if name == "" || name == "." || strings.ContainsAny(name, `/\:`) || strings.HasPrefix(name, ".") ||
		!filepath.IsLocal(name) {
		return reject(PredName, 0, "$", fmt.Sprintf("name %.60q", name), "a plain file name")
	}
	return nil
}

// checkRegular refuses what is no regular file: links lead elsewhere, pipes never end.
func checkRegular(name string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode&fs.ModeSymlink != 0:
		return reject(PredName, 0, "$", fmt.Sprintf("%.60q, a symbolic link", name), "a regular file")
	case mode.IsDir():
		return reject(PredName, 0, "$", fmt.Sprintf("%.60q, a folder", name), "a regular file")
	}
	return reject(PredName, 0, "$", fmt.Sprintf("%.60q, a special file", name), "a regular file")
}
