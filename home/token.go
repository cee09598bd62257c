package home

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/workspace"
)

// A token lets whoever has it do things at this home's server: what its verbs say, to the agents of its scope. The home
// keeps a hash of its secret. A person's token also unlocks the person's key, which the home keeps sealed under that
// secret: only while the person uses the token can anything be signed for them.

const (
	tokenDir = "tokens" // a file per token
	linkDir  = "links"  // a file per link

	tokenPrefix = "perdure_"
	tokenSecret = 32 // bytes
	tokenID     = 8  // bytes
	maxToken    = 16 << 10
)

// The verbs of tokens.
const (
	VerbRead    = "read"    // look at agents
	VerbCreate  = "create"  // create agents, and fork those that may be read
	VerbEvent   = "event"   // tell agents what happened
	VerbApprove = "approve" // approve and deny what policy asks about
	VerbAnswer  = "answer"  // answer what agents ask people
	VerbSettle  = "settle"  // say what came of effects in doubt
	VerbPause   = "pause"
	VerbResume  = "resume"
	VerbGrant   = "grant" // more budget
	VerbEdit    = "edit"
	VerbEnd     = "end"
	VerbExport  = "export"
	VerbImport  = "import"
	VerbMemory  = "memory" // with VerbMCP: have memory, as the role of the token's name
	VerbMetrics = "metrics"
	VerbMCP     = "mcp" // all that MCP clients may do; what takes a person still does
	VerbA2A     = "a2a"
)

// Verbs are all verbs, as people are shown them.
var Verbs = []string{
	VerbRead,
	VerbCreate,
	VerbEvent,
	VerbApprove,
	VerbAnswer,
	VerbSettle,
	VerbPause,
	VerbResume,
	VerbGrant,
	VerbEdit,
	VerbEnd,
	VerbExport,
	VerbImport,
	VerbMemory,
	VerbMetrics,
	VerbMCP,
	VerbA2A,
}

// Token is what a home knows of a token. It holds no secret.
type Token struct {
	ID      string       `json:"id"`
	Name    string       `json:"name"` // what events say they are by; of a person's token, the person
	Hash    string       `json:"hash"` // of the secret, SHA-256 in hex
	Verbs   []string     `json:"verbs"`
	Scope   string       `json:"scope"` // of the agents; AnyScope: all
	Created perdure.Time `json:"created"`
	Expires perdure.Time `json:"expires,omitempty"`
	Person  *Sealed      `json:"person,omitempty"` // the person's key
	Link    *Bound       `json:"link,omitempty"`   // it is good for one answer to one question
}

// Sealed is the key of a person, which only the secret of the token opens.
type Sealed struct {
	Key perdure.Key `json:"key"`
	Box []byte      `json:"box"`
}

// Bound is the question that a link answers.
type Bound struct {
	Agent  perdure.AgentID `json:"agent"`
	Digest perdure.Hash    `json:"digest"`
	// Token is the id of the token that made the link: it is good for as long as that is.
	Token string `json:"token,omitempty"`
	// Said is the answer that was given by it, approve or deny; empty: none yet. The same may come again, as whoever
	// sent it may not have heard that it arrived, and changes nothing; no other is taken.
	Said string `json:"said,omitempty"`
}

// TokenView is a token for people and programs: whose it is, and what it permits.
type TokenView struct {
	ID      string       `json:"id"`
	Name    string       `json:"name"`
	Key     perdure.Key  `json:"key,omitzero"` // of the person
	Verbs   []string     `json:"verbs"`
	Scope   string       `json:"scope"`
	Created perdure.Time `json:"created"`
	Expires perdure.Time `json:"expires,omitempty"`
}

// View is the token without what is only for the home.
func (t *Token) View() TokenView {
	v := TokenView{ID: t.ID, Name: t.Name, Verbs: t.Verbs, Scope: t.Scope, Created: t.Created, Expires: t.Expires}
	if t.Person != nil {
		v.Key = t.Person.Key
	}
	return v
}

// Expired reports whether the token is no longer good at a time.
func (t *Token) Expired(now time.Time) bool { return t.Expires != 0 && !now.Before(t.Expires.Go()) }

// NewToken says what a token is to be.
type NewToken struct {
	Name    string // of the person or program
	Verbs   []string
	Scope   string
	Expires time.Time
	Person  *perdure.Signer // the person whose token it is; nil: a program's
	Link    *Bound
}

// MakeToken makes a token and returns its text, which is kept nowhere.
func (h *Home) MakeToken(x NewToken) (text string, t *Token, err error) {
	if err := h.checkToken(&x); err != nil {
		return "", nil, perdure.Invalid(err)
	}
	secret, id := make([]byte, tokenSecret), make([]byte, tokenID)
	_, _ = rand.Read(secret) // it never fails
	_, _ = rand.Read(id)
	t = &Token{
		ID:      hex.EncodeToString(id),
		Name:    x.Name,
		Hash:    hashSecret(secret),
		Verbs:   x.Verbs,
		Scope:   x.Scope,
		Created: perdure.TimeOf(time.Now()),
		Link:    x.Link,
	}
	if !x.Expires.IsZero() {
		t.Expires = perdure.TimeOf(x.Expires)
	}
	if x.Person != nil {
		if t.Person, err = sealKey(secret, t.ID, x.Person); err != nil {
			return "", nil, err
		}
	}
	if err := h.MakeHome(); err != nil {
		return "", nil, err
	}
	if err := h.keepToken(t); err != nil {
		return "", nil, fmt.Errorf("keep token: %w", err)
	}
	return tokenPrefix + t.ID + "_" + base64.RawURLEncoding.EncodeToString(secret), t, nil
}

// keepToken writes the file of a token, or of a link.
func (h *Home) keepToken(t *Token) error {
	b, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	path := h.tokenFile(t.ID, t.Link != nil)
	return h.change(func() error {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		part := path + ".new"
		err := errors.Join(disk.Write(part, append(b, '\n'), 0o600), disk.Sync(part))
		if err != nil {
			return errors.Join(err, disk.Remove(part))
		}
		return errors.Join(disk.Rename(part, path), disk.Sync(filepath.Dir(path)), disk.Sync(h.Dir))
	})
}

func (h *Home) checkToken(x *NewToken) error {
	if h.Dir == "" {
		return errors.New("a store in memory has no tokens; name another with --store")
	}
	if strings.TrimSpace(x.Name) == "" {
		return errors.New("a token needs a name: that of the person or program that uses it")
	}
	if err := perdure.CheckName("a token", x.Name); err != nil {
		return err
	}
	if len(x.Verbs) == 0 {
		return errors.New("say what the token permits: verbs")
	}
	for _, v := range x.Verbs {
		if !slices.Contains(Verbs, v) {
			return fmt.Errorf("verb %q: want some of %s", v, strings.Join(Verbs, ", "))
		}
	}
	if slices.Contains(x.Verbs, VerbMemory) { // it is the name of a role
		if err := workspace.CheckRole(x.Name); err != nil {
			return fmt.Errorf("the name of a token with the verb %s is that of a role: %w", VerbMemory, err)
		}
	}
	if x.Scope == "" {
		x.Scope = perdure.AnyScope
	}
	if x.Scope != perdure.AnyScope {
		if err := checkScope(x.Scope); err != nil {
			return err
		}
	}
	if !x.Expires.IsZero() && !x.Expires.After(time.Now()) {
		return errors.New("the token would have expired already")
	}
	if x.Person == nil {
		return nil
	}
	if own, err := h.Key(); err != nil || own != nil && own.Key() == x.Person.Key() {
		return errors.Join(err, errNodeKey)
	}
	return nil
}

var errNodeKey = errors.New(
	"that is the key of this home, whose nodes could then approve what they propose themselves; give the person a " +
		"key of their own",
)

func (h *Home) tokenFile(id string, link bool) string {
	dir := tokenDir
	if link {
		dir = linkDir
	}
	return filepath.Join(h.Dir, dir, id+".json")
}

func hashSecret(secret []byte) string {
	sum := sha256.Sum256(append([]byte("perdure token 1\n"), secret...))
	return hex.EncodeToString(sum[:])
}

// boxOf encrypts with a key that follows from a secret.
func boxOf(secret []byte, id string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, secret, []byte(id), "perdure token seals a key 1", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// sealKey encrypts a person's key. Whose key it is cannot be changed without opening it.
func sealKey(secret []byte, id string, s *perdure.Signer) (*Sealed, error) {
	text, err := s.PrivateText()
	if err != nil {
		return nil, err
	}
	box, err := boxOf(secret, id)
	if err != nil {
		return nil, err
	}
	k := s.Key()
	return &Sealed{Key: k, Box: box.Seal(nil, nil, []byte(text), k[:])}, nil
}

func (s *Sealed) open(secret []byte, id string) (*perdure.Signer, error) {
	box, err := boxOf(secret, id)
	if err != nil {
		return nil, err
	}
	text, err := box.Open(nil, nil, s.Box, s.Key[:])
	if err != nil {
		return nil, errors.New("open the person's key: the file of the token was changed")
	}
	out, err := perdure.ParseSigner(string(text))
	if err == nil && out.Key() != s.Key {
		err = errors.New("open the person's key: it is another one")
	}
	return out, err
}

// errToken is why a token is refused: it is not known, or was revoked. Which is not said to whoever shows it.
var errToken = perdure.WithHint(fmt.Errorf("this token is not valid: %w", ErrUnknown), ShowToken)

// ShowToken is what whoever shows no token, or one that is not valid, can do about it.
const ShowToken = "put a token of this server into $PERDURE_TOKEN, or into a file and name that with --token-file; " +
	"a program sends Authorization: Bearer TOKEN. Whoever keeps the server makes one: perdure token new NAME"

// expired is why a token is refused that was good before. Only whoever has its secret is told.
type expired struct{ at perdure.Time }

func (e expired) Error() string      { return "this token expired at " + e.at.String() }
func (expired) Is(target error) bool { return target == ErrUnknown }

// expiredToken says when a token expired, and how to get another.
func expiredToken(t *Token) error {
	if t.Link != nil {
		return perdure.WithHint(expired{t.Expires}, "ask whoever sent you the link for another")
	}
	do := tokenNew(t.Name, t.Verbs, t.Scope)
	if t.Person != nil {
		do += " --person --key FILE # FILE holds their key"
	}
	return perdure.WithHint(expired{t.Expires}, "whoever keeps this home can make another: "+do)
}

// Unlock is the token of a text, and the key of the person whose it is. Every use looks at the file: what was revoked
// is refused at once, and so is the token of somebody whose key was.
func (h *Home) Unlock(text string, now time.Time) (*Token, *perdure.Signer, error) {
	id, secret, err := splitToken(text)
	if err != nil || h.Dir == "" {
		return nil, nil, errToken
	}
	t, err := h.readToken(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errToken
	}
	if err != nil {
		return nil, nil, err
	}
	if subtle.ConstantTimeCompare([]byte(t.Hash), []byte(hashSecret(secret))) != 1 {
		return nil, nil, errToken
	}
	if t.Expired(now) {
		return nil, nil, expiredToken(t)
	}
	if t.Link != nil && !h.madeBy(t, now) {
		return nil, nil, errToken
	}
	if t.Person == nil {
		return t, nil, nil
	}
	if err := h.notRevoked(t.Person.Key); err != nil {
		return nil, nil, err
	}
	s, err := t.Person.open(secret, t.ID)
	return t, s, err
}

// notRevoked refuses a person whose key counts for nothing any more.
func (h *Home) notRevoked(k perdure.Key) error {
	trust, err := h.Trust()
	if err != nil {
		return err
	}
	for _, who := range trust.Trustees() {
		if who.Key == k && who.Revoked {
			return errToken
		}
	}
	return nil
}

func splitToken(text string) (id string, secret []byte, err error) {
	rest, ok := strings.CutPrefix(text, tokenPrefix)
	id, encoded, found := strings.Cut(rest, "_")
	if raw, bad := hex.DecodeString(id); !ok || !found || bad != nil || len(raw) != tokenID {
		return "", nil, errToken
	}
	secret, err = base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || len(secret) != tokenSecret {
		return "", nil, errToken
	}
	return strings.ToLower(id), secret, nil
}

// tokenFiles are tokens as their files were read, by id.
type tokenFiles struct {
	mu  sync.Mutex
	all map[string]*disk.Kept[*Token]
}

// maxTokenFiles bounds the tokens that are kept. Any other is read whenever it is used.
const maxTokenFiles = 4096

// get reads the file of a token, unless it is as it was when it was last read.
func (f *tokenFiles) get(id, path string, read func() (*Token, error)) (*Token, error) {
	f.mu.Lock()
	k := f.all[id]
	f.mu.Unlock()
	if k != nil {
		return k.Get(path, read)
	}
	k = new(disk.Kept[*Token])
	t, err := k.Get(path, read)
	if err != nil { // what nobody made takes no room
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil || len(f.all) >= maxTokenFiles {
		f.all = map[string]*disk.Kept[*Token]{}
	}
	f.all[id] = k
	return t, nil
}

// readToken is the token or link of an id, as its file is now.
func (h *Home) readToken(id string) (*Token, error) {
	t, err := h.tokens.get(id, h.tokenFile(id, false), func() (*Token, error) { return h.parseToken(id, false) })
	if errors.Is(err, fs.ErrNotExist) {
		return h.parseToken(id, true)
	}
	return t, err
}

// parseToken reads the file of a token, or of a link.
func (h *Home) parseToken(id string, link bool) (*Token, error) {
	path := h.tokenFile(id, link)
	b, err := disk.ReadFile(path, maxToken)
	if err != nil {
		return nil, err
	}
	t := new(Token)
	if err := json.Unmarshal(b, t); err != nil {
		return nil, fmt.Errorf("token %s: %w", path, err)
	}
	if t.ID != id || (t.Link != nil) != link {
		return nil, fmt.Errorf("token %s: the file is not that of this token", path)
	}
	return t, nil
}

// Tokens are the tokens of this home, oldest first; links are left out.
func (h *Home) Tokens() (all []*Token, err error) {
	names, err := disk.Files(filepath.Join(h.Dir, tokenDir), ".json")
	if err != nil || h.Dir == "" {
		return nil, err
	}
	for _, name := range names {
		t, err := h.readToken(strings.TrimSuffix(filepath.Base(name), ".json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *Token) int {
		return strings.Compare(fmt.Sprintf("%020d%s", a.Created, a.ID), fmt.Sprintf("%020d%s", b.Created, b.ID))
	})
	return all, nil
}

// RevokeToken takes a token back, by its id, its text or the name that no other has: from now on it is refused.
func (h *Home) RevokeToken(word string) (*Token, error) {
	id, _, err := splitToken(word)
	if err != nil {
		id = strings.ToLower(word)
	}
	var t *Token
	if raw, bad := hex.DecodeString(id); bad == nil && len(raw) == tokenID && h.Dir != "" {
		if t, err = h.readToken(id); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if t == nil {
		if t, err = h.tokenNamed(word); err != nil {
			return nil, err
		}
	}
	if t == nil {
		return nil, perdure.WithHint(perdure.Missing("no token has the id or the name "+filepath.Base(word)),
			"see perdure token ls")
	}
	return t, h.dropToken(t)
}

// usedLink records which answer was given by a link.
func (h *Home) usedLink(t *Token, approve bool) error {
	if t.Link == nil || t.Link.Said != "" {
		return nil
	}
	used, link := *t, *t.Link
	link.Said = saidWord(approve)
	used.Link = &link
	return h.keepToken(&used)
}

// SweepLinks removes the links that are no longer useful: those that have expired, those whose token has or is gone,
// and those that were used a while ago. It returns how many of a person are open.
func (h *Home) SweepLinks(person perdure.Key, now time.Time) (open int, err error) {
	names, err := disk.Files(filepath.Join(h.Dir, linkDir), ".json")
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		t, err := h.parseToken(strings.TrimSuffix(filepath.Base(name), ".json"), true)
		if err != nil {
			continue // it is gone, or leads nowhere
		}
		info, err := os.Stat(name)
		used := err == nil && t.Link.Said != "" // the file was written when it was
		switch {
		case t.Expired(now) || h.orphaned(t, now) || used && now.Sub(info.ModTime()) > linkUsedFor:
			_ = h.dropToken(t) // it is tried again with the next link
		case !used && t.Person != nil && t.Person.Key == person:
			open++
		}
	}
	return open, nil
}

// madeBy reports whether the token that made a link is good.
func (h *Home) madeBy(link *Token, now time.Time) bool {
	if link.Link.Token == "" {
		return true
	}
	maker, err := h.readToken(link.Link.Token)
	return err == nil && !maker.Expired(now)
}

// orphaned reports whether the token that made a link is gone or has expired. One that cannot be read may come back.
func (h *Home) orphaned(link *Token, now time.Time) bool {
	if link.Link.Token == "" {
		return false
	}
	maker, err := h.readToken(link.Link.Token)
	return errors.Is(err, fs.ErrNotExist) || err == nil && maker.Expired(now)
}

// saidWord is the word for an answer.
func saidWord(approve bool) string {
	if approve {
		return "approve"
	}
	return "deny"
}

// dropToken removes the file of a token.
func (h *Home) dropToken(t *Token) error {
	path := h.tokenFile(t.ID, t.Link != nil)
	err := h.change(func() error { return errors.Join(os.Remove(path), disk.Sync(filepath.Dir(path))) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody else did
	}
	return err
}
