package chunk

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/PlakarKorp/go-cdc-chunkers/chunkers/fastcdc"
)

const gearFile = "../../spec/gear.txt"

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestSpecHasTheGearTable holds the published table against the one the chunker uses.
func TestSpecHasTheGearTable(t *testing.T) {
	var b strings.Builder
	for i, g := range fastcdc.G {
		fmt.Fprintf(&b, "%016x", g)
		b.WriteByte(" \n"[(i%4)/3])
	}
	if got := string(must(os.ReadFile(gearFile))); got != b.String() {
		t.Errorf("%s is not the table of the code: that is frozen", gearFile)
	}
}

// cutsAsWritten cuts a body as spec/capsule.md §4 says, and knows nothing else.
func cutsAsWritten(gear []uint64, body []byte) (sizes []int) {
	const strict, loose = 0x9249249249248000, 0x8888888888888000
	for len(body) > 0 {
		n := min(len(body), 65536)
		i := min(n, 16384)
		for h := uint64(0); i < n; i++ {
			h = h<<1 + gear[body[i]]
			if mask := uint64(strict); i < 32768 && h&mask == 0 {
				break
			}
			if mask := uint64(loose); i >= 32768 && h&mask == 0 {
				break
			}
		}
		sizes, body = append(sizes, i), body[i:]
	}
	return sizes
}

func random(r *rand.Rand, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(r.Uint32()) & byte(r.IntN(256))
	}
	return b
}

func TestChunksAreCutAsTheSpecSays(t *testing.T) {
	var gear []uint64
	for _, word := range strings.Fields(string(must(os.ReadFile(gearFile)))) {
		gear = append(gear, must(strconv.ParseUint(word, 16, 64)))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		body := random(r, r.IntN(400<<10))
		if got, want := must(Cuts(body)), cutsAsWritten(gear, body); !slices.Equal(got, want) {
			t.Fatalf("%d bytes: cut into %v, by the spec %v", len(body), got, want)
		}
	}
	for size := range 5 { // around the bounds
		for _, bound := range []int{16384, 32768, 65536} {
			body := random(r, bound-2+size)
			if got, want := must(Cuts(body)), cutsAsWritten(gear, body); !slices.Equal(got, want) {
				t.Fatalf("%d bytes: cut into %v, by the spec %v", len(body), got, want)
			}
		}
	}
}
