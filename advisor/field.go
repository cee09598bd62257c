package advisor

import (
	"fmt"
	"time"

	"github.com/perdure/perdure"
)

// field reads a field of one Go type.
func field[T any](o *object, name, want string) (v T, ok bool) {
	i, ok := o.get(name)
	if !ok {
		return v, false
	}
	v, ok = i.v.(T)
	if !ok {
		o.fail(i.errorf("%s is %s, want %s", name, kindOf(i.v), want))
	}
	return v, ok
}

func (o *object) str(name string) string {
	v, _ := field[string](o, name, "text")
	return v
}

// template is a text in which values may be put.
func (o *object) template(name string) string {
	i, ok := o.get(name)
	if !ok {
		return ""
	}
	s, isText := i.v.(string)
	if !isText {
		o.fail(i.errorf("%s is %s, want text", name, kindOf(i.v)))
		return ""
	}
	v, err := o.text(s, i)
	if err != nil {
		o.fail(err)
	}
	return textOf(v)
}

// textOf is a value as text: itself, or its JSON.
func textOf(v any) string {
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
func (o *object) optional(name string) *string {
	if _, ok := o.fields[name]; !ok {
		o.names = append(o.names, name)
		return nil
	}
	s := o.template(name)
	return &s
}

// count is a number that is zero or more.
func (o *object) count(name string) int64 {
	v, ok := field[int64](o, name, "a whole number")
	if ok && v < 0 {
		o.fail(o.fields[name].errorf("%s is %d, want zero or more", name, v))
	}
	return v
}

func (o *object) optionalCount(name string) *int64 {
	if _, ok := o.fields[name]; !ok {
		o.names = append(o.names, name)
		return nil
	}
	n := o.count(name)
	return &n
}

// millis is a duration such as 90s or 1h30m, in milliseconds.
func (o *object) millis(name string) int64 {
	s, ok := field[string](o, name, "a duration such as 90s or 1h30m")
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		o.fail(o.fields[name].errorf("%s is %q, want a duration such as 90s or 1h30m", name, s))
	}
	return d.Milliseconds()
}

// time is a time such as 2027-01-31T09:00:00Z.
func (o *object) time(name string) perdure.Time {
	s, ok := field[string](o, name, "a time such as 2027-01-31T09:00:00Z")
	if !ok {
		return 0
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.Unix() <= 0 || t.Year() > 9999 {
		o.fail(o.fields[name].errorf("%s is %q, want a time such as 2027-01-31T09:00:00Z", name, s))
		return 0
	}
	return perdure.TimeOf(t)
}

// free is any value.
func (o *object) free(name string) perdure.Data {
	i, ok := o.get(name)
	if !ok {
		return nil
	}
	d, err := i.data(o.text)
	if err != nil {
		o.fail(err)
	}
	return d
}

// list reads each element of a list.
func list[T any](o *object, name string, read func(item) T) []T {
	items, ok := field[[]item](o, name, "a list")
	if !ok {
		return nil
	}
	if len(items) > maxActions {
		o.fail(o.fields[name].errorf("%s has %d elements, at most %d are allowed", name, len(items), maxActions))
		return nil
	}
	out := make([]T, 0, len(items))
	for _, i := range items {
		out = append(out, read(i))
	}
	return out
}

// words is a list of texts; nil if absent.
func (o *object) words(name string) []string {
	return list(o, name, func(i item) string {
		s, ok := i.v.(string)
		if !ok {
			o.fail(i.errorf("got %s, want text", kindOf(i.v)))
		}
		return s
	})
}

// labels is a map of texts.
func (o *object) labels(name string) map[string]string {
	m, ok := field[map[string]item](o, name, "an object of texts")
	if !ok {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, i := range m {
		s, isText := i.v.(string)
		if !isText {
			o.fail(i.errorf("label %s is %s, want text", k, kindOf(i.v)))
		}
		out[k] = s
	}
	return out
}

// budget is an amount of each kind that is given.
func (o *object) budget(name string) *perdure.Budget {
	i, ok := o.get(name)
	if !ok {
		return nil
	}
	b := i.object(o.text, o.err)
	defer b.done()
	return &perdure.Budget{Cost: b.optionalCount("cost"), Tokens: b.optionalCount("tokens"), Calls: b.optionalCount("calls")}
}
