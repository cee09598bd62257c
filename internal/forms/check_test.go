package forms_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/forms"
)

func TestLinesOfHexadecimalAreAnsweredOneByOne(t *testing.T) {
	t.Parallel()
	var got []string
	flushed := 0
	each := func(v forms.Verdict) error {
		switch {
		case v.OK:
			got = append(got, *v.Text)
		default:
			got = append(got, string(v.Predicate))
		}
		return nil
	}
	lim := perdure.Limits{Bytes: 8}
	in := strings.NewReader("01\n1801\n0g\n820102\n" + strings.Repeat("00", 20) + "\n")
	err := forms.HexLines(in, forms.Binary, forms.Value, lim, each, func() error { flushed++; return nil })
	if err != nil || flushed == 0 {
		t.Fatalf("%v, flushed %d times", err, flushed)
	}
	if want := "1 canon.shortest-int input.hex [1,2]"; !strings.HasPrefix(strings.Join(got, " "), want) ||
		len(got) != 5 {
		t.Errorf("got %q, want %s and a limit", got, want)
	}
}

func TestAValueIsConvertedThereAndBack(t *testing.T) {
	t.Parallel()
	lim := perdure.Limits{Bytes: 1 << 10}
	const text = `{"a":[1,true]}`
	bin, err := forms.Convert([]byte(text), forms.Text, forms.Binary, forms.Auto, lim)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := forms.Check(bin, forms.Binary, forms.Auto, lim); err != nil ||
		found.String() != "ok: value, 6 bytes" {
		t.Errorf("checked as %v, %v", found, err)
	}
	if back, err := forms.Convert(bin, forms.Binary, forms.Text, forms.Value, lim); err != nil || string(back) != text {
		t.Errorf("got %s, %v; want %s", back, err, text)
	}
}
