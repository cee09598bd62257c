package sqlite

import (
	"database/sql/driver"
	"fmt"
	"sync"

	"github.com/perdure/perdure"
)

// maxWords bounds the words remembered. Authors and policies are few; a store with more looks them up.
const maxWords = 1 << 16

// words remembers the numbers that stand for keys and policies. They never change once committed.
type words struct {
	mu     sync.RWMutex
	number map[perdure.Hash]int64
	value  map[int64]perdure.Hash
}

func (w *words) remember(value perdure.Hash, number int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.number == nil || len(w.number) >= maxWords {
		w.number, w.value = map[perdure.Hash]int64{}, map[int64]perdure.Hash{}
	}
	w.number[value], w.value[number] = number, value
}

// forget forgets all words, when some may not have been committed.
func (w *words) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.number, w.value = nil, nil
}

// numberOf is the number of a word, a new one if it has none.
func (w *writer) numberOf(value perdure.Hash) (int64, error) {
	w.words.mu.RLock()
	n, ok := w.words.number[value]
	w.words.mu.RUnlock()
	if ok {
		return n, nil
	}
	return w.newNumber(value)
}

// newNumber is numberOf for a word that is not remembered.
func (w *writer) newNumber(value perdure.Hash) (int64, error) {
	n, ok, err := w.eyes().number("SELECT number FROM words WHERE value=?", value[:])
	if w.apart && corrupt(err) {
		n, ok, err = w.eyes().number("SELECT number FROM words NOT INDEXED WHERE value=?", value[:])
	}
	if err == nil && !ok {
		n, _, err = w.number("INSERT INTO words(value) VALUES(?) RETURNING number", value[:])
	}
	if err != nil {
		return 0, brokenError{err}
	}
	w.words.remember(value, n)
	return n, nil
}

// lookup finds words by their numbers.
type lookup struct {
	*conn
	*words
}

func (l lookup) word(number int64) (value perdure.Hash, err error) {
	l.mu.RLock()
	value, ok := l.value[number]
	l.mu.RUnlock()
	if ok {
		return value, nil
	}
	take := func(v []driver.Value) error {
		b, _ := v[0].([]byte)
		ok = len(b) == len(value)
		copy(value[:], b)
		return nil
	}
	err = l.query("SELECT value FROM words WHERE number=?", take, number)
	if corrupt(err) { // the index has them, too
		const text = "SELECT value FROM words INDEXED BY sqlite_autoindex_words_1 WHERE value>x'' AND number=?"
		if l.query(text, take, number) == nil {
			err = nil
		}
	}
	if err == nil && !ok {
		err = fmt.Errorf("%w: word %d is missing", errRow, number)
	}
	if err == nil {
		l.remember(value, number)
	}
	return value, err
}
