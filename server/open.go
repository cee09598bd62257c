package server

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// open lets answers have more fields than are described: a newer server may add some, and values are those of the
// command line. Requests stay closed: a field that is misspelt is refused, not ignored.
func open(doc *huma.OpenAPI) {
	asked, answered := map[string]bool{}, map[string]bool{}
	all := doc.Components.Schemas.Map()
	for _, path := range doc.Paths {
		for _, op := range []*huma.Operation{path.Get, path.Post} {
			if op == nil {
				continue
			}
			if op.RequestBody != nil {
				for _, m := range op.RequestBody.Content {
					reach(m.Schema, all, asked)
				}
			}
			for _, r := range op.Responses {
				for _, m := range r.Content {
					reach(m.Schema, all, answered)
				}
			}
		}
	}
	for name := range answered {
		if !asked[name] {
			all[name].AdditionalProperties = true
		}
	}
}

// reach collects the schemas that one refers to.
func reach(s *huma.Schema, all map[string]*huma.Schema, found map[string]bool) {
	if s == nil {
		return
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		if found[name] {
			return
		}
		found[name] = true
		reach(all[name], all, found)
	}
	reach(s.Items, all, found)
	for _, p := range s.Properties {
		reach(p, all, found)
	}
	if more, ok := s.AdditionalProperties.(*huma.Schema); ok {
		reach(more, all, found)
	}
	for _, list := range [][]*huma.Schema{s.OneOf, s.AnyOf, s.AllOf} {
		for _, one := range list {
			reach(one, all, found)
		}
	}
}
