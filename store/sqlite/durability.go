package sqlite

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Sync is what an acknowledged write survives.
type Sync uint8

const (
	Full   Sync = iota // kill -9 and a power cut: every commit is synced to the disk before it is acknowledged
	Normal             // kill -9, not a power cut: the last commits may be gone then, never some from among them
)

var syncNames = []string{"full", "normal"}

// String is the level as a store's name has it.
func (s Sync) String() string { return syncNames[s] }

// Survives says what an acknowledged write survives.
func (s Sync) Survives() string {
	if s == Normal {
		return "kill -9, not a power cut (sync=normal)"
	}
	return "kill -9 and a power cut (sync=full)"
}

// Lasts reports whether that is a power cut, too.
func (s Sync) Lasts() bool { return s == Full }

// pragma is the level as SQLite has it.
func (s Sync) pragma() string { return "synchronous=" + strings.ToUpper(s.String()) }

// ParseSync reads the name of a level.
func ParseSync(name string) (Sync, error) {
	i := slices.Index(syncNames, name)
	if i < 0 {
		return Full, fmt.Errorf("sync=%s: want %s", name, strings.Join(syncNames, " or "))
	}
	return Sync(i), nil
}

// ParseName takes PATH?sync=LEVEL apart: what follows the last question mark says how to open the store. Without one it
// is opened as the zero Options say.
func ParseName(name string) (path string, o Options, err error) {
	i := strings.LastIndexByte(name, '?')
	if i < 0 {
		return name, o, nil
	}
	values, err := url.ParseQuery(name[i+1:])
	if err != nil {
		return "", o, fmt.Errorf("%s: %w: want PATH?sync=%s", name, err, strings.Join(syncNames, " or ?sync="))
	}
	for key, v := range values {
		if key != "sync" || len(v) != 1 {
			return "", o, fmt.Errorf("%s: %s is not known, or is there twice: want ?sync=%s", name, key,
				strings.Join(syncNames, " or ?sync="))
		}
		if o.Sync, err = ParseSync(v[0]); err != nil {
			return "", o, fmt.Errorf("%s: %w", name, err)
		}
	}
	return name[:i], o, nil
}
