package advisor

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"

	"github.com/perdure/perdure"
)

// Price is what the tokens of a model cost, in US dollars per million, which is millionths of a dollar per token.
type Price struct {
	In      float64 `json:"in"`
	Out     float64 `json:"out"`
	Cached  float64 `json:"cached"`            // of tokens read from the provider's cache
	Written float64 `json:"written,omitempty"` // of tokens written to it; zero: as In
	Context int     `json:"context,omitempty"` // the tokens its window holds; zero: not known
	Over    int64   `json:"over,omitempty"`    // a prompt longer than this costs Long, all of it
	Long    *Price  `json:"long,omitempty"`
}

// Prices are the prices of models, by the beginning of their name: the longest that fits counts.
type Prices map[string]Price

//go:embed prices.json
var pricesJSON []byte

// defaultPrices reads the prices that come with the program.
var defaultPrices = sync.OnceValue(func() Prices {
	p, err := LoadPrices(pricesJSON)
	if err != nil {
		panic(err)
	}
	return p
})

// DefaultPrices are the list prices known when this version was made. They change: give LLM your own where it matters,
// which come first.
func DefaultPrices() Prices { return maps.Clone(defaultPrices()) }

// LoadPrices reads prices from JSON: an object from the beginnings of names to {"in", "out", "cached", "written",
// "context", "over", "long"}.
func LoadPrices(b []byte) (Prices, error) {
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.DisallowUnknownFields()
	var p Prices
	if err := dec.Decode(&p); err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	for name, price := range p {
		for _, x := range []*Price{&price, price.Long} {
			if x != nil && (x.In < 0 || x.Out < 0 || x.Cached < 0 || x.Written < 0 || x.Context < 0 || x.Over < 0) {
				return nil, fmt.Errorf("read prices: %s has a negative amount", name)
			}
		}
	}
	return p, nil
}

// Of is the price of a model, and whether it is known.
func (p Prices) Of(model string) (Price, bool) {
	model = model[strings.LastIndexByte(model, '/')+1:] // gateways put the provider before it
	best, found := "", false
	for name := range p {
		if strings.HasPrefix(model, name) && (!found || len(name) > len(best)) {
			best, found = name, true
		}
	}
	return p[best], found
}

// cost is what tokens cost, in millionths of a dollar, rounded up.
func (p Price) cost(t Tokens) int64 {
	if p.Long != nil && p.Over > 0 && t.In > p.Over {
		p = *p.Long
	}
	written := p.Written
	if written == 0 {
		written = p.In
	}
	fresh := max(t.In-t.Cached-t.Written, 0)
	return int64(math.Ceil(float64(fresh)*p.In + float64(t.Cached)*p.Cached + float64(t.Written)*written +
		float64(t.Out)*p.Out - 1e-6))
}

// usage is what asking cost.
func (l *LLM) usage(parts []Tokens) *perdure.Usage {
	price, _ := l.price()
	var sum Tokens
	var cost int64
	for _, t := range parts {
		sum, cost = sum.plus(t), cost+price.cost(t)
	}
	if sum == (Tokens{}) {
		return nil
	}
	return &perdure.Usage{In: max(sum.In, 0), Out: max(sum.Out, 0), Cached: max(sum.Cached, 0), Cost: max(cost, 0)}
}

// price is what the model costs: as Prices says, else as DefaultPrices does. A price that does not say how much the
// window holds leaves that to the default.
func (l *LLM) price() (Price, bool) {
	name := l.Model.Name()
	listed, known := defaultPrices().Of(name)
	own, given := l.Prices.Of(name)
	if !given {
		return listed, known
	}
	if own.Context == 0 {
		own.Context = listed.Context
	}
	return own, true
}

// priced refuses to think for an agent with a budget in money when nobody knows what thinking costs: it would spend
// without end. Without such a budget the advice counts as free, which is noted once.
func (l *LLM) priced(f *perdure.Fold) error {
	if _, known := l.price(); known {
		return nil
	}
	if b := f.Intent.Budget; b != nil && b.Cost != nil {
		return perdure.Unable(fmt.Errorf("the agent has a budget in money, and model %s has no price here; give it "+
			"one in a file of prices (prices in node.yaml, or --prices) such as %s, or zeros if it is free",
			l.Model.Name(), examplePrice(l.Model.Name())))
	}
	if l.Log != nil {
		l.unpriced.Do(func() {
			l.Log.Info("the model has no price: what it costs is counted as nothing", "model", l.Model.Name(), "add",
				"a file of prices with "+examplePrice(l.Model.Name()))
		})
	}
	return nil
}

// examplePrice shows how a price is written.
func examplePrice(model string) string {
	name, err := json.Marshal(model)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(`{%s: {"in": 3, "out": 15, "cached": 0.3}} in US dollars per million tokens`, name)
}
