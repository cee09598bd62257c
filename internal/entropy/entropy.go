// Package entropy is where the salts of bodies come from. Programs leave it alone; the generator of test vectors
// replaces it, so that the same vectors come out each time.
package entropy

import (
	"crypto/rand"
	"io"
)

// Reader yields random bytes. Nothing may change it while entries are written.
var Reader io.Reader = rand.Reader
