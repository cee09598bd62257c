package schema

import (
	"fmt"
	"sync"
)

// Registry is the schemas a reader knows, by id. The zero Registry is empty and ready for use. It is safe for
// concurrent use; Library is set before.
type Registry struct {
	Library Library // for schemas that come embedded in files

	mu     sync.RWMutex
	byID   map[Hash]*Schema
	latest map[string]*Schema // by name

	partial map[Hash]*Schema // of states on their way, see growing
}

// Add makes a schema and all its earlier versions known. It is refused if another schema of that name says something
// else about a version both have: values written before would change their meaning.
func (r *Registry) Add(s *Schema) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.latest[s.Name()]
	if last != nil {
		if err := agree(last, s); err != nil {
			return err
		}
	}
	r.know(s)
	if last == nil || last.Version() < s.Version() {
		r.latest[s.Name()] = s
	}
	return nil
}

// AddByID makes a schema and all its earlier versions known by their ids and no more: it takes neither a name nor a
// version from those that are added, whatever somebody called it.
func (r *Registry) AddByID(s *Schema) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.know(s)
}

func (r *Registry) know(s *Schema) {
	if r.byID == nil {
		r.byID, r.latest = map[Hash]*Schema{}, map[string]*Schema{}
	}
	for _, p := range s.past {
		if r.byID[p.id] == nil {
			r.byID[p.id] = p
		}
	}
}

// agree refuses two schemas that differ in a version both have.
func agree(a, b *Schema) error {
	for i := range min(len(a.past), len(b.past)) {
		if a.past[i].id != b.past[i].id {
			return refuse(predHistory, "$", fmt.Sprintf("%s version %d with id %.12s…", b.Name(), i+1, b.past[i].id),
				fmt.Sprintf("id %.12s…, as it was", a.past[i].id))
		}
	}
	return nil
}

// Succeeds reports whether s is a later version of old: it has the same name, and leaves every version old has as it
// was.
func (s *Schema) Succeeds(old *Schema) error {
	if s.Name() != old.Name() || s.Version() <= old.Version() {
		return refuse(predHistory, "$", fmt.Sprintf("%s version %d", s.Name(), s.Version()),
			fmt.Sprintf("%s above version %d", old.Name(), old.Version()))
	}
	return agree(old, s)
}

// Lookup returns the schema with an id. An unknown one is refused by schema.known.
func (r *Registry) Lookup(id Hash) (*Schema, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if s := r.byID[id]; s != nil {
		return s, nil
	}
	return nil, refuse(predKnown, "$.schema", "unknown schema "+id.String(), "one that is embedded or registered")
}

// Latest returns the newest version of a schema that was added, or nil if there is none of that name.
func (r *Registry) Latest(name string) *Schema {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.latest[name]
}

// Upcast returns a value written under the schema with the given id as a value of s, a version of the same schema: for
// reading, the value itself is not rewritten. A value of a later version is downgraded, if that version is registered.
func (r *Registry) Upcast(id Hash, value []byte, s *Schema) ([]byte, error) {
	from, err := r.Lookup(id)
	for _, p := range s.past {
		if p.id == id {
			from, err = p, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return upcast(from, value, s)
}

func upcast(from *Schema, value []byte, s *Schema) ([]byte, error) {
	if from.Name() != s.Name() {
		return nil, refuse(predHistory, "$.schema", "a value of "+from.Name(), "a value of "+s.Name(),
			"read it with the schema it was written with")
	}
	if err := agree(from, s); err != nil {
		return nil, err
	}
	if from.Version() > s.Version() {
		return from.Downgrade(s.Version(), value)
	}
	return s.Upgrade(from.Version(), value)
}
