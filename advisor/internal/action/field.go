package action

import (
	"fmt"
	"time"

	"github.com/perdure/perdure"
)

// Field reads a field of one Go type.
func Field[T any](o *Object, name, want string) (v T, ok bool) {
	i, ok := o.Get(name)
	if !ok {
		return v, false
	}
	v, ok = i.V.(T)
	if !ok {
		o.Fail(i.Errorf("%s is %s, want %s", name, KindOf(i.V), want))
	}
	return v, ok
}

// Str is a text.
func (o *Object) Str(name string) string {
	v, _ := Field[string](o, name, "text")
	return v
}

// template is a text in which values may be put.
func (o *Object) template(name string) string {
	i, ok := o.Get(name)
	if !ok {
		return ""
	}
	s, isText := i.V.(string)
	if !isText {
		o.Fail(i.Errorf("%s is %s, want text", name, KindOf(i.V)))
		return ""
	}
	v, err := o.text(s, i)
	if err != nil {
		o.Fail(err)
	}
	return TextOf(v)
}

// TextOf is a value as text: itself, or its JSON.
func TextOf(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	d, err := perdure.DataOf(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(d.JSON())
}

// optional is a text that may be absent.
func (o *Object) optional(name string) *string {
	if _, ok := o.Fields[name]; !ok {
		o.names = append(o.names, name)
		return nil
	}
	s := o.template(name)
	return &s
}

// Count is a number that is zero or more.
func (o *Object) Count(name string) int64 {
	v, ok := Field[int64](o, name, "a whole number")
	if ok && v < 0 {
		o.Fail(o.Fields[name].Errorf("%s is %d, want zero or more", name, v))
	}
	return v
}

func (o *Object) optionalCount(name string) *int64 {
	if _, ok := o.Fields[name]; !ok {
		o.names = append(o.names, name)
		return nil
	}
	n := o.Count(name)
	return &n
}

// millis is a duration such as 90s or 1h30m, in milliseconds.
func (o *Object) millis(name string) int64 {
	s, ok := Field[string](o, name, "a duration such as 90s or 1h30m")
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		o.Fail(o.Fields[name].Errorf("%s is %q, want a duration such as 90s or 1h30m", name, s))
	}
	return d.Milliseconds()
}

// time is a time such as 2027-01-31T09:00:00Z.
func (o *Object) time(name string) perdure.Time {
	s, ok := Field[string](o, name, "a time such as 2027-01-31T09:00:00Z")
	if !ok {
		return 0
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.Unix() <= 0 || t.Year() > 9999 {
		o.Fail(o.Fields[name].Errorf("%s is %q, want a time such as 2027-01-31T09:00:00Z", name, s))
		return 0
	}
	return perdure.TimeOf(t)
}

// free is any value.
func (o *Object) free(name string) perdure.Data {
	i, ok := o.Get(name)
	if !ok {
		return nil
	}
	d, err := i.data(o.text)
	if err != nil {
		o.Fail(err)
	}
	return d
}

// List reads each element of a list.
func List[T any](o *Object, name string, read func(Item) T) []T {
	items, ok := Field[[]Item](o, name, "a list")
	if !ok {
		return nil
	}
	if len(items) > MaxActions {
		o.Fail(o.Fields[name].Errorf("%s has %d elements, at most %d are allowed", name, len(items), MaxActions))
		return nil
	}
	out := make([]T, 0, len(items))
	for _, i := range items {
		out = append(out, read(i))
	}
	return out
}

// words is a list of texts; nil if absent.
func (o *Object) words(name string) []string {
	return List(o, name, func(i Item) string {
		s, ok := i.V.(string)
		if !ok {
			o.Fail(i.Errorf("got %s, want text", KindOf(i.V)))
		}
		return s
	})
}

// labels is a map of texts.
func (o *Object) labels(name string) map[string]string {
	m, ok := Field[map[string]Item](o, name, "an object of texts")
	if !ok {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, i := range m {
		s, isText := i.V.(string)
		if !isText {
			o.Fail(i.Errorf("label %s is %s, want text", k, KindOf(i.V)))
		}
		out[k] = s
	}
	return out
}

// budget is an amount of each kind that is given.
func (o *Object) budget(name string) *perdure.Budget {
	i, ok := o.Get(name)
	if !ok {
		return nil
	}
	b := i.Object(o.text, o.err)
	defer b.Done()
	return &perdure.Budget{Cost: b.optionalCount("cost"), Tokens: b.optionalCount("tokens"),
		Calls: b.optionalCount("calls")}
}
