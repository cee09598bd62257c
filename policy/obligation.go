package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// Obligation is what must come before a forbidden action is permitted after all: the approval of people. In a rule it is written
//
//	@obligation("approval:WHO,WHO;quorum=N;expires=DURATION")
//
// where everything after the colon may be left out. WHO is told to people and not enforced; whose approvals count is said by the charter.
type Obligation struct {
	Asked   []string      `json:"asked,omitempty"`
	Quorum  int64         `json:"quorum"`            // how many must approve
	Expires time.Duration `json:"expires,omitempty"` // after that nobody's answer is waited for; zero: for ever
}

func parseObligation(text string) (*Obligation, error) {
	rest, ok := strings.CutPrefix(text, "approval:")
	if !ok {
		return nil, fmt.Errorf("@obligation(%q): want approval:WHO,WHO;quorum=N;expires=DURATION", text)
	}
	o := &Obligation{Quorum: 1}
	parts := strings.Split(rest, ";")
	for who := range strings.SplitSeq(parts[0], ",") {
		if who = strings.TrimSpace(who); who != "" && !slices.Contains(o.Asked, who) {
			o.Asked = append(o.Asked, who)
		}
	}
	slices.Sort(o.Asked)
	seen := map[string]bool{}
	for _, part := range parts[1:] {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if seen[key] {
			return nil, fmt.Errorf("@obligation(%q): %s is there twice", text, key)
		}
		seen[key] = true
		var err error
		switch key {
		case "quorum":
			o.Quorum, err = strconv.ParseInt(value, 10, 64)
			if err != nil || o.Quorum < 1 || o.Quorum > maxQuorum {
				return nil, fmt.Errorf("@obligation(%q): quorum %q: want 1 to %d", text, value, maxQuorum)
			}
		case "expires":
			o.Expires, err = time.ParseDuration(value)
			if err != nil || o.Expires < time.Second || o.Expires > maxExpiry {
				return nil, fmt.Errorf("@obligation(%q): expires %q: want a duration such as 90m or 24h, from 1s to %s", text, value, maxExpiry)
			}
		default:
			return nil, fmt.Errorf("@obligation(%q): %q: want quorum=N or expires=DURATION", text, part)
		}
	}
	return o, nil
}

// join adds the obligation to a verdict that has others. Whoever asks the same people asks once; asking other people adds to the quorum.
func (o *Obligation) join(v *perdure.Verdict, quorums map[string]int64, now perdure.Time) {
	for _, who := range o.Asked {
		if i, found := slices.BinarySearch(v.Asked, who); !found {
			v.Asked = slices.Insert(v.Asked, i, who)
		}
	}
	whom := strings.Join(o.Asked, ",")
	if before := quorums[whom]; o.Quorum > before {
		v.Quorum, quorums[whom] = v.Quorum+o.Quorum-before, o.Quorum
	}
	if o.Expires > 0 {
		if at := now.Add(o.Expires); v.Expires == 0 || at < v.Expires {
			v.Expires = at
		}
	}
}
