package home_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

// TestADoctorSeesLostSecondCopies loses the second copies of first entries, which nothing else would notice until they
// are needed, and follows the advice.
func TestADoctorSeesLostSecondCopies(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "home")
	h := &home.Home{URL: dir}
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err == nil {
			_, err = n.Create(ctx, perdure.Genesis{Intent: perdure.Intent{Goal: "stay"},
				Charter: perdure.Charter{Scope: "home"}})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	examine := func(d *home.Doctor) (copies string) {
		t.Helper()
		h := &home.Home{URL: dir}
		err := h.Locate()
		var found []home.Examined
		if err == nil {
			found, err = d.Examine(t.Context(), h, &home.Powers{})
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range found {
			if one.What == "copies" {
				copies += one.Health + ": " + one.Found + "; " + one.Fix
			}
		}
		return copies
	}
	if got := examine(&home.Doctor{}); got != "" {
		t.Errorf("of a sound store a doctor says %q", got)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "store.db"))
	if err == nil {
		_, err = db.ExecContext(t.Context(), "UPDATE births SET entry=zeroblob(100)")
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := examine(&home.Doctor{}); !strings.Contains(got, "1 agent") || !strings.Contains(got, "--repair") {
		t.Errorf("of garbled copies a doctor says %q, want how many and what to do", got)
	}
	if got := examine(&home.Doctor{Repair: true}); got != "" {
		t.Errorf("a doctor that repairs says %q", got)
	}
	if got := examine(&home.Doctor{}); got != "" {
		t.Errorf("after a repair a doctor says %q", got)
	}
}
