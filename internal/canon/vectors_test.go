package canon

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// published returns a file of published test data, which lies beside the repository and is not part of it.
func published(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "vectors", filepath.FromSlash(name)))
	if os.IsNotExist(err) {
		t.Skipf("published vectors %s are not beside the repository", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type vector struct {
	Hex        string
	Diagnostic string
	Notes      string
	Roundtrip  bool
}

func vectors(t *testing.T, name string) []vector {
	var v []vector
	if err := json.Unmarshal(published(t, name), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// accepted fails unless b is canonical and comes back through every form.
func accepted(t *testing.T, b []byte) {
	t.Helper()
	if err := Check(AnyType, b, Limits{}); err != nil {
		t.Errorf("%x: %v", b, err)
		return
	}
	formsAgree(t, AnyType, b)
}

func TestValidDCBORIsAccepted(t *testing.T) {
	for _, v := range vectors(t, "dcbor/valid.json") {
		accepted(t, unhex(t, v.Hex))
	}
}

func TestInvalidDCBORIsRefusedForItsReason(t *testing.T) {
	reasons := map[string][]string{
		"reduced":                {PredShortestFlt},
		"Not preferred encoding": {PredShortestInt, PredShortestFlt},
		"65-bit":                 {PredIntRange},
		"NaN":                    {PredNaN},
		"Duplicate string":       {PredKeyDuplicate},
		"Duplicate integer":      {PredKeyDuplicate},
		"Duplicate":              {PredKeyType},
		"out of order":           {PredKeyOrder},
		"Bigint":                 {PredTag},
		"Streaming":              {PredIndefinite},
		"simple":                 {PredSimple},
		"NFC":                    {PredNFC},
	}
	n := 0
	for _, v := range vectors(t, "dcbor/invalid.json") {
		b := unhex(t, v.Hex)
		if v.Hex == "f94a00" || v.Hex == "f98000" { // floats stay floats here
			accepted(t, b)
			continue
		}
		var want []string
		for part, preds := range reasons {
			if strings.Contains(v.Notes, part) {
				want = append(want, preds...)
			}
		}
		if v.Notes == "" { // "nodes" in the published file
			want = []string{PredShortestFlt}
		}
		wantPredicate(t, Check(AnyType, b, Limits{}), want...)
		n++
	}
	if n < 30 {
		t.Errorf("only %d vectors were refused", n)
	}
}

func TestAppendixAIsAcceptedWithinTheProfile(t *testing.T) {
	n := 0
	for _, v := range vectors(t, "cbor/appendix_a.json") {
		b := unhex(t, v.Hex)
		major := b[0] >> 5
		simple := major == majorOther && b[0] != cborFalse && b[0] != cborTrue && b[0] != cborNull &&
			(b[0] < cborF16 || b[0] > cborF64)
		if !v.Roundtrip || major == majorTag || simple || v.Hex == "3bffffffffffffffff" {
			if Check(AnyType, b, Limits{}) == nil {
				t.Errorf("%s is accepted", v.Hex)
			}
			continue
		}
		accepted(t, b)
		n++
	}
	if n < 50 {
		t.Errorf("only %d vectors are in the profile", n)
	}
}

func TestCDEExamplesAreAcceptedWithinTheProfile(t *testing.T) {
	r := csv.NewReader(bytes.NewReader(published(t, "cde/example-table-input.csv")))
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		b := unhex(t, row[2])
		outside := b[0]>>5 == majorTag || row[2] == "3bffffffffffffffff" || row[1] == "NaN" && row[2] != "f97e00"
		if row[0] == "bad" || outside {
			if Check(AnyType, b, Limits{}) == nil {
				t.Errorf("%s is accepted: %s", row[2], row[3])
			}
			continue
		}
		accepted(t, b)
		if f, err := strconv.ParseFloat(row[1], 64); row[0] == "flt" && err == nil {
			if got := AppendFloat(nil, f); !bytes.Equal(got, b) {
				t.Errorf("%v is written %x, want %s", f, got, row[2])
			}
		}
	}
}

func TestPublishedJSONIsWrittenAsRFC8785Says(t *testing.T) {
	for _, name := range []string{"arrays", "french", "structures", "unicode", "values", "weird"} {
		d, err := DataFromJSON(published(t, "jcs/input/"+name+".json"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, want := d.JSON(), bytes.TrimSpace(published(t, "jcs/output/"+name+".json")); !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
		formsAgree(t, DataType, d)
	}
}

func TestNumbersAreSpelledAsECMAScriptSpellsThem(t *testing.T) {
	lines := bufio.NewScanner(bytes.NewReader(published(t, "jcs/es6testfile_10000.txt")))
	n := 0
	for lines.Scan() {
		bits, want, _ := strings.Cut(lines.Text(), ",")
		u, err := strconv.ParseUint(bits, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(appendNumber(nil, math.Float64frombits(u))); got != want {
			t.Errorf("%s: got %s, want %s", bits, got, want)
		}
		n++
	}
	if n != 10000 {
		t.Errorf("%d numbers, want 10000", n)
	}
}
