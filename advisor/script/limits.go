package script

const (
	// MaxSize bounds the text of a script.
	MaxSize = 1 << 20
	// maxRepeat bounds the rounds of one turn.
	maxRepeat = 1_000_000
	// maxForks bounds how many forks of forks a script follows its results through.
	maxForks = 16
)
