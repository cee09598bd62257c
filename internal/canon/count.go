package canon

import (
	"fmt"
	"strings"
)

// one has the words of rejections in the singular.
var one = strings.NewReplacer("bytes", "byte", "elements", "element", "entries", "entry", "bodies", "body", "chunks",
	"chunk")

// Count is a number of things, which are given in the plural: "1 byte", "2 bytes".
func Count[N ~int | ~int64 | ~uint64](n N, things string) string {
	if n == 1 {
		things = one.Replace(things)
	}
	return fmt.Sprint(n, " ", things)
}
