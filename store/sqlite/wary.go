package sqlite

import (
	"context"
	"errors"
	"fmt"
)

// wary is how the committer goes on in a file with a damaged page. Each request has a transaction of its own then, so
// that who does not need the page is not kept from going on. SQLite commits nothing more in a transaction that has met
// the page, not even what has been read another way: so what a request has to know is read by another connection.
type wary struct {
	met      bool  // the committer has met a damaged page
	apart    bool  // it is applying a request in a transaction of its own
	side     *conn // what that request has to know is read here
	stuck    bool  // recent or places is damaged: nothing is moved there
	unmarked bool  // mark is damaged: nothing is noted there
	doubtful bool  // unlisted is damaged: no listing is believed
}

// eyes is the connection that reads what a request has to know before it writes.
func (w *writer) eyes() *conn {
	if w.apart {
		return w.side
	}
	return w.conn
}

// singly applies each request of a batch in a transaction of its own, and returns those that an error keeps it from:
// what came before them is committed, or has an error of its own. Damage is what the batch met, if it was tried: of
// that nothing has been committed, and nothing is uncertain. It is no reason to open the file anew.
func (w *writer) singly(batch []*request, damage error) (rest []*request, err error) {
	w.met = true
	if w.side == nil {
		if w.side, err = dial(w.file, "rw", readerPragmas...); err != nil {
			return batch, err
		}
	}
	defer w.unknow()
	for i, r := range batch {
		w.unknow()
		err := damage
		switch {
		case !r.alone:
			err = w.single(r)
		case damage == nil: // what goes alone is not applied twice
			err = w.transact([]*request{r})
		}
		if corrupt(err) {
			r.err, err = fmt.Errorf("nothing of it was written: %w", err), nil
		}
		if errors.Is(err, context.Canceled) { // whoever asked for it has left while the file was locked
			r.err, err = context.Canceled, nil
		}
		if err != nil {
			return batch[i:], err
		}
	}
	return nil, nil
}

// single applies one request. Where it finds that an index cannot be written that others can do without, it is applied
// once more without that.
func (w *writer) single(r *request) (err error) {
	w.apart = true
	defer func() { w.apart = false }()
	for {
		was := w.wary
		if r.state.CompareAndSwap(taken, waiting) {
			r.err = nil
		}
		err = w.transact([]*request{r})
		if !corrupt(err) || was == w.wary {
			return err
		}
		w.unknow()
	}
}

// unknow forgets all that the committer knows of the file.
func (w *writer) unknow() {
	w.words.forget()
	w.unlearn()
	w.next = 0 // begin looks at the file again
}
