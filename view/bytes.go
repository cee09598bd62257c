package view

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseBytes reads a number of bytes: 4096, 64KiB, 10MiB, 1GiB.
func ParseBytes(s string) (int64, error) {
	digits, unit := s, int64(1)
	for i, suffix := range []string{"KiB", "MiB", "GiB"} {
		if cut, ok := strings.CutSuffix(s, suffix); ok {
			digits, unit = cut, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > maxBytes/unit {
		return 0, fmt.Errorf("%.20q: want a number of bytes such as 4096, 64MiB or 1GiB, at most 1024GiB", s)
	}
	return n * unit, nil
}

// maxBytes is more than anybody waits for.
const maxBytes = 1 << 40

// BytesText is a number of bytes for people.
func BytesText(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if size := int64(1) << (10 * (3 - i)); n >= size {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(size), unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
