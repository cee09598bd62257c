package bench

import (
	"fmt"
	"runtime"
)

// Table is what a run came to, for people.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
	Notes []string
}

func (t *Table) add(cells ...string) { t.Rows = append(t.Rows, cells) }

func (t *Table) note(format string, args ...any) {
	t.Notes = append(t.Notes, fmt.Sprintf(format, args...))
}

// Machine is where a run was made.
type Machine struct {
	Go   string `json:"go"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
}

func thisMachine() Machine { return Machine{runtime.Version(), runtime.GOOS, runtime.GOARCH} }

func (m Machine) String() string { return m.Go + " " + m.OS + "/" + m.Arch }

// number is a figure, or a dash when it was not measured.
func number(v float64, digits int) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.*f", digits, v)
}
