package schema

import "fmt"

// Sources is files of schemas and values, by the names that people give them.
type Sources struct {
	Read      func(name string) ([]byte, error)
	Libraries []string // files of predicates that schemas name with @
}

// Schemas reads schema files.
func (s *Sources) Schemas(names ...string) (found []*Schema, err error) {
	named := Expressions{}
	for _, name := range s.Libraries {
		b, err := s.Read(name)
		if err == nil {
			err = named.Add(b)
		}
		if err != nil {
			return nil, fmt.Errorf("library %s: %w", name, err)
		}
	}
	for _, name := range names {
		b, err := s.Read(name)
		if err != nil {
			return nil, err
		}
		one, err := ParseWith(b, nil, named)
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		found = append(found, one)
	}
	return found, nil
}

// Registry is the schemas of files.
func (s *Sources) Registry(names ...string) (*Registry, error) {
	all, err := s.Schemas(names...)
	r := new(Registry)
	for i, one := range all {
		if err := r.Add(one); err != nil {
			return nil, fmt.Errorf("schema %s: %w", names[i], err)
		}
	}
	return r, err
}

// File reads the file of a value.
func (s *Sources) File(name string) (File, error) {
	b, err := s.Read(name)
	return File{name, b}, err
}

// Files reads the files of a chain.
func (s *Sources) Files(names ...string) (found []File, err error) {
	for _, name := range names {
		f, err := s.File(name)
		if err != nil {
			return nil, err
		}
		found = append(found, f)
	}
	return found, nil
}
