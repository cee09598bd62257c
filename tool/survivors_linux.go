package tool

import (
	"bytes"
	"os"
	"slices"
	"strconv"
)

// Survivors are the processes on this machine that a command with this idempotency key started and that still run, also
// those that left its process group: each inherits KeyVariable. A process that drops its environment, or belongs to
// another user, is not seen. Only Linux tells; elsewhere there are none.
func Survivors(key string) []int {
	mark := []byte(KeyVariable + "=" + key)
	all, err := os.ReadDir("/proc")
	if key == "" || err != nil {
		return nil
	}
	var pids []int
	for _, one := range all {
		pid, err := strconv.Atoi(one.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile("/proc/" + one.Name() + "/environ") // empty for a zombie
		if err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool {
			return bytes.Equal(v, mark)
		}) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}
