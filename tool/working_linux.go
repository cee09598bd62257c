package tool

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Survivors are the processes on this machine still at work on the call with this idempotency key: the node that makes
// it, also one that is stopped; what a command of it started, also outside its process group, for that inherits
// KeyVariable; and an MCP server that has not answered it, with what that started. This process is one of them if it is
// at work on it. A process that drops both its environment and the descriptors it inherited, or belongs to another
// user, is not seen. Only Linux tells; elsewhere there are none.
func Survivors(key string) []int {
	all, err := os.ReadDir("/proc")
	if key == "" || err != nil {
		return nil
	}
	var pids []int
	for _, one := range all {
		pid, err := strconv.Atoi(one.Name())
		if err == nil && (inherits(one.Name(), key) || underWay(one.Name(), key)) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// inherits reports whether a process has the key in its environment.
func inherits(pid, key string) bool {
	mark := []byte(KeyVariable + "=" + key)
	env, err := os.ReadFile("/proc/" + pid + "/environ") // empty for a zombie
	return err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool {
		return bytes.Equal(v, mark)
	})
}

// underWay reports whether a process holds a list of calls under way that has the key. Whoever keeps the list of a
// server is not at work on what is in it: the server is.
func underWay(pid, key string) bool {
	dir := "/proc/" + pid + "/fd/"
	files, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, f := range files {
		link, err := os.Readlink(dir + f.Name())
		name, ours := strings.CutPrefix(strings.TrimSuffix(link, " (deleted)"), "/memfd:"+listPrefix)
		if err != nil || !ours || name == serverList+pid {
			continue
		}
		if listed(readList(dir+f.Name()), key) {
			return true
		}
	}
	return false
}

// readList reads a list, which a server may have spoilt, within bounds.
func readList(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil // it is gone
	}
	b, _ := io.ReadAll(io.LimitReader(f, maxCalls))
	_ = f.Close() // it was only read
	return b
}

const (
	listPrefix = "perdure:"
	nodeList   = "node"
	serverList = "server:" // and the process that keeps it
	keySlot    = 96        // bytes for a key in a list; the keys of nodes are shorter
	maxCalls   = 1 << 20
)

// slot is a key as a list has it.
func slot(key string) []byte {
	b := make([]byte, keySlot)
	copy(b, key)
	return b
}

// listed reports whether a list has a key.
func listed(list []byte, key string) bool {
	want := slot(key)
	for ; len(list) >= keySlot; list = list[keySlot:] {
		if bytes.Equal(list[:keySlot], want) {
			return true
		}
	}
	return false
}

// calls is a list of calls under way in memory that others can see as long as somebody has it open: the processes that
// it was passed on to keep it when its writer is killed. It is no proof, but who would hide from it can also hide from
// everything else. Without support by the system it is empty.
type calls struct {
	mu   sync.Mutex
	file *os.File // nil: there is none
	used []bool   // which slots are
}

func newCalls(name string) *calls {
	fd, err := unix.MemfdCreate(listPrefix+name, unix.MFD_CLOEXEC)
	if err != nil {
		return &calls{}
	}
	return &calls{file: os.NewFile(uintptr(fd), listPrefix+name)}
}

// newServerCalls is the list of a server that this process starts.
func newServerCalls() *calls { return newCalls(serverList + strconv.Itoa(os.Getpid())) }

// add puts a call on the list until what it returns is called.
func (c *calls) add(key string) (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil || key == "" {
		return func() {}
	}
	i := slices.Index(c.used, false)
	if i < 0 {
		i, c.used = len(c.used), append(c.used, false)
	}
	at := int64(i * keySlot)
	if _, err := c.file.WriteAt(slot(key), at); err != nil {
		return func() {} // there is no memory for it: nobody sees this call
	}
	c.used[i] = true
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.file != nil {
			_, _ = c.file.WriteAt(make([]byte, keySlot), at)
		}
		c.used[i] = false
	})
}

// inherited are the files a server is started with, so that it has the list, too.
func (c *calls) inherited() []*os.File {
	if c.file == nil {
		return nil
	}
	return []*os.File{c.file}
}

// close lets go of the list. It stays with those it was passed on to.
func (c *calls) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil {
		_ = c.file.Close() // it is memory
		c.file = nil
	}
}

// ownCalls are the calls that nodes of this process have under way.
var ownCalls = sync.OnceValue(func() *calls { return newCalls(nodeList) })

// Working makes known, until done is called, that this process is at work on the call with a key: see Survivors.
func Working(key string) (done func()) { return ownCalls().add(key) }
