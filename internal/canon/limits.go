package canon

// Limits bound what a decoder does for an input before it has been believed. Zero fields mean the defaults below.
type Limits struct {
	Bytes int64 // length of one value
	Depth int   // lists, maps and records inside each other
	Items int64 // list elements and map pairs, in total
}

const (
	DefaultBytes = 64 << 20 // one value is read into memory whole
	DefaultDepth = 64       // the walker recurses; people do not nest deeper
	DefaultItems = 1 << 20  // each may cost a Go value many times its size on the wire

	MaxDepth = 10_000 // no limit asked for goes past this: stacks end
)

// lenient are the limits for bytes that have been accepted before under limits this package does not know.
func lenient(b []byte) Limits {
	return Limits{Bytes: int64(len(b)), Depth: MaxDepth, Items: int64(len(b))}
}

func (l Limits) withDefaults() Limits {
	if l.Bytes <= 0 {
		l.Bytes = DefaultBytes
	}
	if l.Depth <= 0 {
		l.Depth = DefaultDepth
	}
	l.Depth = min(l.Depth, MaxDepth)
	if l.Items <= 0 {
		l.Items = DefaultItems
	}
	return l
}
