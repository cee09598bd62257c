package server

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html"
	"net/http"
	"strings"
)

//go:embed pages
var pages embed.FS

// pageOf is an HTML page that needs nothing from elsewhere, and a policy by which browsers let it have nothing else.
func pageOf(name string) (text, policy string) {
	read := func(name string) string {
		b, err := pages.ReadFile("pages/" + name)
		if err != nil {
			panic(err) // it was compiled in
		}
		return string(b)
	}
	style, script := read("style.css"), read(name+".js")
	hash := func(of string) string {
		sum := sha256.Sum256([]byte(of))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	text = strings.NewReplacer("{{style}}", style, "{{script}}", script).Replace(read(name + ".html"))
	return text, "default-src 'none'; connect-src 'self'; style-src " + hash(style) + "; script-src " + hash(
		script,
	) + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// docs serves the pages: what the API is, and what a link leads to.
func (s *Server) docs(mux *http.ServeMux) {
	for _, name := range []string{"docs", "approve"} {
		text, policy := pageOf(name)
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			h := w.Header()
			h.Set("Content-Type", "text/html; charset=utf-8")
			h.Set("Content-Security-Policy", policy)
			h.Set("Cache-Control", "no-store")
			page := strings.ReplaceAll(text, "{{server}}", html.EscapeString(baseOf(r)))
			_, _ = w.Write([]byte(page)) // who has gone needs no page
		})
	}
	mux.Handle("GET /{$}", http.RedirectHandler("/docs", http.StatusSeeOther))
}
