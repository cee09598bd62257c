package home_test

import (
	"testing"

	"github.com/perdure/perdure/home"
)

func TestAGoalMakesANameThatShellsTake(t *testing.T) {
	for goal, want := range map[string]string{
		"Say hello, then go home now": "say-hello-then-go",
		"Grüße schicken":              "grusse-schicken",
		"Écrire à l'été":              "ecrire-a-l-ete",
		"東京 へ 行く":                     "東京-へ-行く",
		"Купить молоко, й":            "купить-молоко-й",
		"!?":                          "agent",
	} {
		if got := home.Slug(goal); got != want {
			t.Errorf("%s: got %s, want %s", goal, got, want)
		}
	}
}
