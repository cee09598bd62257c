package view_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/perdure/perdure/view"
)

// TestALimitIsAtLeastOne has programs and people say it.
func TestALimitIsAtLeastOne(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]view.Limit{"1": 1, "200": 200, "0": 0, "-3": 0, "1.5": 0, `"1"`: 0, "many": 0} {
		var said struct{ Limit view.Limit }
		err := json.Unmarshal([]byte(`{"limit":`+text+`}`), &said)
		if said.Limit != want || (err == nil) != (want > 0) {
			t.Errorf("a program says %s: got %d, %v", text, said.Limit, err)
		}
		var flag view.Limit
		if err := flag.Set(text); flag != want || err != nil && !strings.Contains(err.Error(), "at least 1") {
			t.Errorf("a person says %s: got %d, %v", text, flag, err)
		}
	}
	if said := struct{ Limit view.Limit }{}; json.Unmarshal([]byte(`{"limit":null}`), &said) != nil || said.Limit != 0 {
		t.Errorf("null, which says nothing, is read as %d", said.Limit)
	}
}
