package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// module is the import path of the root package.
const module = "github.com/perdure/perdure"

// pkg is what the tests need of one package, as go list prints it.
type pkg struct {
	ImportPath string
	Name       string
	Dir        string
	Doc        string   // the first sentence of the package comment
	Imports    []string // of its files that are not tests
	GoFiles    []string
}

// path is the package's place below the root: "" for the root itself, "store/sqlite".
func (p pkg) path() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// root is the directory of the module.
var root = sync.OnceValues(func() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.mod above the test")
		}
		dir = up
	}
})

// packages lists the module's packages, those with errors too: whether they compile is for others to say.
func packages(t *testing.T) []pkg {
	t.Helper()
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	list := exec.Command("go", "list", "-e", "-json=ImportPath,Name,Dir,Doc,Imports,GoFiles", "./...")
	list.Dir = dir
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) < 2 {
		t.Fatalf("go list knows %d packages, want at least the root and this one", len(pkgs))
	}
	watch(t, dir)
	return pkgs
}

// watch reads the folders and looks at the Go files of the module. go list does that too, but in another process, where
// the test cache does not see it: a change of an import would leave a remembered pass standing.
func watch(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".go"):
			_, err = os.Stat(path)
		}
		if errors.Is(err, os.ErrNotExist) { // a test beside this one tidied up
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
