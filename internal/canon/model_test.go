package canon

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode"

	"github.com/fxamacker/cbor/v2"
	"github.com/gowebpki/jcs"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// A model is a value in plain Go, independent of this package: nil, bool, int64, uint64, float64, []byte, string,
// []any, map[string]any and map[uint64]any. The oracles work on it.

var oracle = func() cbor.EncMode {
	o := cbor.CoreDetEncOptions()
	o.ShortestFloat = cbor.ShortestFloat16
	o.NaNConvert = cbor.NaNConvert7e00
	o.InfConvert = cbor.InfConvertFloat16
	o.TagsMd = cbor.TagsForbidden
	m, err := o.EncMode()
	if err != nil {
		panic(err)
	}
	return m
}()

var oracleReader = func() cbor.DecMode {
	m, err := cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF, MaxArrayElements: 1 << 24,
		MaxMapPairs: 1 << 24}.DecMode()
	if err != nil {
		panic(err)
	}
	return m
}()

func encodeModel(tb rapid.TB, v any) []byte {
	b, err := oracle.Marshal(v)
	if err != nil {
		tb.Fatalf("the oracle cannot encode %#v: %v", v, err)
	}
	return b
}

var (
	anyText = rapid.OneOf(
		rapid.StringMatching(`[a-z$_ ]{0,8}`),
		rapid.StringOfN(rapid.RuneFrom(nil, unicode.L, unicode.M, unicode.N, unicode.S, unicode.Cc, unicode.Cf,
			unicode.Co), 0, 12, -1),
		rapid.StringOfN(rapid.SampledFrom(
			[]rune("e\u0301\u0327가각\u11a8\u1161\u0958\u212b\uffee\U0001f600\u00e9ab$\"\\\u2028\u007f\x01\n")), 0, 12,
			-1))
	nfcText = rapid.Map(anyText, norm.NFC.String)
	floats  = rapid.OneOf(rapid.Float64(), rapid.Map(rapid.Float32(), func(f float32) float64 { return float64(f) }),
		rapid.Map(rapid.Uint16(), fromHalf), rapid.Map(rapid.IntRange(-100, 100), func(i int) float64 {
			return float64(i)
		}),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1e21, 1e-7, 65504,
			65505}))
	safeInts = rapid.OneOf(rapid.Int64Range(-maxSafe, maxSafe), rapid.Int64Range(-300, 300))
	uints    = rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 300))
	blobs    = rapid.SliceOfN(rapid.Byte(), 0, 30)
)

// drawType returns a random type. open are records around it that it may refer to again.
func drawType(t *rapid.T, depth int, open []*Type) *Type {
	kinds := []Kind{Bool, Int, Uint, Float, Bytes, Text, Verbatim, Enum, Any, DataKind, List, Map, Record, Record,
		Record, Union}
	switch {
	case open == nil && depth > 0:
		kinds = kinds[8:]
	case depth == 0:
		kinds = kinds[:10]
	}
	n := &Type{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
	switch n.Kind {
	case Bytes:
		n.Len = rapid.SampledFrom([]int{0, 0, 1, 4, 32}).Draw(t, "len")
	case List, Map:
		if len(open) > 0 && rapid.IntRange(0, 3).Draw(t, "again") == 0 {
			n.Elem = rapid.SampledFrom(open).Draw(t, "open")
		} else {
			n.Elem = drawType(t, depth-1, open)
		}
	case Enum:
		for i, number := range rapid.SliceOfNDistinct(rapid.Uint64Range(0, 40), 1, 5, rapid.ID).Draw(t, "numbers") {
			n.Names = append(n.Names, Name{number, "name" + strconv.Itoa(i)})
		}
		sortNames(n.Names)
	case Record, Union:
		n.Schema = &Schema{Name: nfcText.Draw(t, "schema")}
		least := 2
		if n.Kind == Union {
			least = 1
		}
		ids := rapid.SliceOfNDistinct(rapid.OneOf(rapid.Uint16Range(0, 30), rapid.Uint16Range(0, MaxReserved)), least,
			8, rapid.ID).Draw(t, "ids")
		names := rapid.SliceOfNDistinct(rapid.OneOf(rapid.StringMatching(`[a-z]{1,3}`),
			rapid.Map(nfcText, func(s string) string {
				return norm.NFC.String("f" + s)
			})),
			len(ids), len(ids), rapid.ID).Draw(t, "names")
		for i, id := range ids {
			f := Field{ID: id, Name: names[i], Type: drawType(t, depth-1, append(open, n))}
			if n.Kind == Record {
				f.Presence = rapid.SampledFrom([]Presence{Required, Optional, OmitZero}).Draw(t, "presence")
			}
			n.Schema.Fields = append(n.Schema.Fields, f)
		}
		sortFields(n.Schema.Fields)
	}
	return n
}

// drawModel returns a random value of type t. Under depth 0 it ends soon.
func drawModel(t *rapid.T, n *Type, depth int) any {
	size := func() int {
		if depth <= 0 {
			return 0
		}
		return rapid.IntRange(0, 5).Draw(t, "size")
	}
	switch n.Kind {
	case Bool:
		return rapid.Bool().Draw(t, "bool")
	case Int:
		return safeInts.Draw(t, "int")
	case Uint:
		return uints.Draw(t, "uint")
	case Float:
		return floats.Draw(t, "float")
	case Bytes:
		if n.Len > 0 {
			return rapid.SliceOfN(rapid.Byte(), n.Len, n.Len).Draw(t, "bytes")
		}
		return blobs.Draw(t, "bytes")
	case Text:
		return nfcText.Draw(t, "text")
	case Verbatim:
		return anyText.Draw(t, "verbatim")
	case Enum:
		return rapid.SampledFrom(n.Names).Draw(t, "enum").Number
	case List:
		list := []any{}
		for range size() {
			list = append(list, drawModel(t, n.Elem, depth-1))
		}
		return list
	case Map:
		m := map[string]any{}
		for range size() {
			m[nfcText.Draw(t, "key")] = drawModel(t, n.Elem, depth-1)
		}
		return m
	case Record:
		m := map[uint64]any{}
		for i := range n.Schema.Fields {
			f := &n.Schema.Fields[i]
			if f.Presence != Required && rapid.Bool().Draw(t, "absent") {
				continue
			}
			v := drawModel(t, f.Type, depth-1)
			if f.Presence != OmitZero || !zeroModel(f.Type, v) {
				m[uint64(f.ID)] = v
			}
		}
		if rapid.IntRange(0, 5).Draw(t, "reserved") == 0 {
			id := rapid.Uint64Range(MaxCritical+1, MaxReserved).Draw(t, "reserved id")
			if n.Schema.byID(id) == nil {
				m[id] = drawFree(t, depth-1, anyText)
			}
		}
		return m
	case Union:
		f := rapid.SampledFrom(n.Schema.Fields).Draw(t, "case")
		return map[uint64]any{uint64(f.ID): drawModel(t, f.Type, depth-1)}
	case Any:
		return drawFree(t, depth, nfcText)
	case DataKind:
		return drawFree(t, depth, anyText)
	}
	panic(n.Kind)
}

// drawFree returns a random schema-less value.
func drawFree(t *rapid.T, depth int, text *rapid.Generator[string]) any {
	kinds := 8
	if depth > 0 {
		kinds = 11
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "free") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.Int64().Draw(t, "int")
	case 3:
		return uints.Draw(t, "uint")
	case 4:
		return floats.Draw(t, "float")
	case 5:
		return blobs.Draw(t, "bytes")
	case 6, 7:
		return text.Draw(t, "text")
	case 8:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "size") {
			list = append(list, drawFree(t, depth-1, text))
		}
		return list
	case 9:
		m := map[uint64]any{}
		for range rapid.IntRange(0, 3).Draw(t, "size") {
			m[rapid.Uint64Range(0, 65535).Draw(t, "id")] = drawFree(t, depth-1, text)
		}
		return m
	}
	m := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "size") {
		m[text.Draw(t, "key")] = drawFree(t, depth-1, text)
	}
	return m
}

func zeroModel(n *Type, v any) bool {
	switch v := v.(type) {
	case bool:
		return !v && n.Kind == Bool
	case int64:
		return v == 0 && n.Kind == Int
	case uint64:
		return v == 0 && (n.Kind == Uint || n.Kind == Enum)
	case float64:
		return math.Float64bits(v) == 0 && n.Kind == Float
	case []byte:
		for _, c := range v {
			if c != 0 || n.Len == 0 {
				return false
			}
		}
		return n.Kind == Bytes
	case string:
		return v == "" && (n.Kind == Text || n.Kind == Verbatim)
	case []any:
		return len(v) == 0 && n.Kind == List
	case map[string]any:
		return len(v) == 0 && n.Kind == Map
	case map[uint64]any:
		if n.Kind != Record {
			return false
		}
		for id, e := range v {
			f := n.Schema.byID(id)
			if f == nil || f.Presence != Required || !zeroModel(f.Type, e) {
				return false
			}
		}
		return true
	}
	return false
}

// namedModel is the model of the described form.
func namedModel(n *Type, v any) any {
	switch n.Kind {
	case Enum:
		return nameOfModel(n, v)
	case List:
		out := []any{}
		for _, e := range v.([]any) {
			out = append(out, namedModel(n.Elem, e))
		}
		return out
	case Map:
		out := map[string]any{}
		for k, e := range v.(map[string]any) {
			out[k] = namedModel(n.Elem, e)
		}
		return out
	case Record, Union:
		out := map[string]any{}
		for id, e := range v.(map[uint64]any) {
			if f := n.Schema.byID(id); f != nil {
				out[f.Name] = namedModel(f.Type, e)
			} else {
				out["$"+strconv.FormatUint(id, 10)] = e
			}
		}
		return out
	}
	return v
}

func nameOfModel(n *Type, v any) string {
	for _, name := range n.Names {
		if name.Number == v {
			return name.Name
		}
	}
	return ""
}

// textModel is what encoding/json must write so that JCS makes the text form of it.
func textModel(n *Type, v any) any {
	switch n.Kind {
	case Uint:
		return fmt.Sprint(v)
	case Float:
		if s := specialModel(v.(float64)); s != "" {
			return s
		}
		return v
	case Bytes:
		return base64.RawURLEncoding.EncodeToString(v.([]byte))
	case Enum:
		return nameOfModel(n, v)
	case List:
		out := []any{}
		for _, e := range v.([]any) {
			out = append(out, textModel(n.Elem, e))
		}
		return out
	case Map:
		out := map[string]any{}
		for k, e := range v.(map[string]any) {
			out[k] = textModel(n.Elem, e)
		}
		return out
	case Record, Union:
		out := map[string]any{}
		for id, e := range v.(map[uint64]any) {
			if f := n.Schema.byID(id); f != nil {
				out[f.Name] = textModel(f.Type, e)
			} else {
				out["$"+strconv.FormatUint(id, 10)] = freeTextModel(e)
			}
		}
		return out
	case Any, DataKind:
		return freeTextModel(v)
	}
	return v
}

func specialModel(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return map[bool]string{true: "Infinity", false: "-Infinity"}[f > 0]
	case f == 0 && math.Signbit(f):
		return "-0"
	}
	return ""
}

func freeTextModel(v any) any {
	dollar := func(s string) string {
		if s != "" && s[0] == '$' {
			return "$" + s
		}
		return s
	}
	switch v := v.(type) {
	case int64:
		if v > maxSafe || v < -maxSafe {
			return fmt.Sprint("$int:", v)
		}
	case uint64:
		if v > maxSafe {
			return fmt.Sprint("$int:", v)
		}
	case float64:
		if s := specialModel(v); s != "" {
			return "$float:" + s
		}
		if v == math.Trunc(v) && math.Abs(v) < 1e21 {
			return "$float:" + strconv.FormatFloat(v, 'f', -1, 64)
		}
	case []byte:
		return "$bytes:" + base64.RawURLEncoding.EncodeToString(v)
	case string:
		return dollar(v)
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, freeTextModel(e))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[dollar(k)] = freeTextModel(e)
		}
		return out
	case map[uint64]any:
		out := map[string]any{}
		for k, e := range v {
			out["$"+strconv.FormatUint(k, 10)] = freeTextModel(e)
		}
		return out
	}
	return v
}

// canonicalJSON is the JCS form of v by encoding/json and an independent canonicalizer.
func canonicalJSON(tb rapid.TB, v any) string {
	b, err := json.Marshal([]any{v})
	if err != nil {
		tb.Fatalf("the oracle cannot write %#v: %v", v, err)
	}
	out, err := jcs.Transform(b)
	if err != nil {
		tb.Fatalf("the oracle cannot canonicalize %s: %v", b, err)
	}
	return string(out[1 : len(out)-1])
}
