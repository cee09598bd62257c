package canon

import (
	"math"
	"strconv"
)

// appendNumber appends a finite float as ECMAScript, and so RFC 8785, spells it.
func appendNumber(dst []byte, f float64) []byte {
	if f == 0 {
		return append(dst, '0')
	}
	if a := math.Abs(f); a >= 1e-6 && a < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// Go pads the exponent to two digits, ECMAScript does not.
	if n := len(dst); n-from >= 4 && dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// special returns the name of a float that JSON cannot spell as a number, or "".
func special(f float64) string {
	switch {
	case f != f:
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f == 0 && math.Signbit(f):
		return "-0"
	}
	return ""
}

// parseSpecial is the inverse of special.
func parseSpecial(s string) (float64, bool) {
	switch s {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	case "-0":
		return math.Copysign(0, -1), true
	}
	return 0, false
}

// integral reports whether a JSON number is spelled as an integer.
func integral(token []byte) bool {
	for _, c := range token {
		if c == '.' || c == 'e' || c == 'E' {
			return false
		}
	}
	return true
}
