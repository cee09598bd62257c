package schema_test

import (
	"fmt"
	"log"
	"net/netip"
	"os"

	"github.com/perdure/perdure/schema"
)

// An agent's memory becomes a file with a fingerprint, the next one names that as its parent, and both verify as a
// chain.
func Example() {
	src, err := os.ReadFile("testdata/memory-snapshot-v1.lode")
	if err != nil {
		log.Fatal(err)
	}
	s, err := schema.Parse(src, nil)
	if err != nil {
		log.Fatal(err)
	}
	snapshot, err := os.ReadFile("testdata/snapshot-001.json")
	if err != nil {
		log.Fatal(err)
	}
	one, err := schema.Compile(s, snapshot, schema.Options{Embed: true})
	if err != nil {
		log.Fatal(err)
	}
	first, err := schema.Fingerprint(one)
	if err != nil {
		log.Fatal(err)
	}
	two, err := schema.Compile(s, fmt.Appendf(nil, `{"agentName": "librarian", "sessionId": "s-002",
		"timestamp": "2026-11-03T09:00:00Z", "state": {}, "keys": [], "parentHash": %q}`, first), schema.Options{Embed: true})
	if err != nil {
		log.Fatal(err)
	}
	chain, err := schema.VerifyChain([]schema.File{{Name: "two.vein", Bytes: two}, {Name: "one.vein", Bytes: one}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range chain.Links {
		fmt.Println(l.Name, l.Fingerprint)
	}
	text, err := schema.Restore(one, first, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
	// Output:
	// one.vein c76a5693a7e9f27011050d7977e0481c474ba8d24ff0c96d7dc13bbd7beb3598
	// two.vein 064344deae69ae9c2b671676db9d2e163a6c75f0c03ae798ec2b9d14d52dd4c9
	// {"agentName":"librarian","keys":["shelf","read"],"sessionId":"s-001","state":{"read":"12","shelf":"canonical encodings"},"timestamp":"2026-11-02T08:15:00Z","ttl":"30d"}
}

// A value of an older version is read as one of a newer version. The file is not rewritten.
func ExampleVein_As() {
	var versions []*schema.Schema
	for _, name := range []string{"testdata/memory-snapshot-v1.lode", "testdata/memory-snapshot-v2.lode"} {
		src, err := os.ReadFile(name)
		if err != nil {
			log.Fatal(err)
		}
		s, err := schema.Parse(src, nil)
		if err != nil {
			log.Fatal(err)
		}
		versions = append(versions, s)
	}
	snapshot, err := os.ReadFile("testdata/snapshot-001.json")
	if err != nil {
		log.Fatal(err)
	}
	file, err := schema.Compile(versions[0], snapshot, schema.Options{Embed: true})
	if err != nil {
		log.Fatal(err)
	}
	v, err := schema.Open(file, nil)
	if err != nil {
		log.Fatal(err)
	}
	value, err := v.As(versions[1])
	if err != nil {
		log.Fatal(err)
	}
	text, err := versions[1].ToJSON(value)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
	// Output:
	// {"agentName":"librarian","run":"s-001","state":{"read":"12","shelf":"canonical encodings"},"tier":"short","timestamp":"2026-11-02T08:15:00Z","ttl":"30d"}
}

// A schema names predicates written in Go with an at sign.
func ExampleLibrary() {
	lib := schema.Library{"net.address": func(this any, _ map[string]any) error {
		_, err := netip.ParseAddr(this.(string))
		return err
	}}
	s, err := schema.Parse([]byte(`{"name": "Host", "version": 1, "fields": [
		{"id": 1, "name": "address", "type": "text", "required": true, "predicate": "@net.address"}]}`), lib)
	if err != nil {
		log.Fatal(err)
	}
	for _, src := range []string{`{"address": "192.0.2.1"}`, `{"address": "192.0.2"}`} {
		_, err := s.FromJSON([]byte(src))
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// rejected by schema.predicate at $.address (byte 12): got ParseAddr("192.0.2"): IPv4 address too short at line 1, column 13, want @net.address; change the value so that the predicate holds
}

// A mistake in a schema is refused with its place and what to do about it.
func ExampleParse() {
	_, err := schema.Parse([]byte(`{
  "name": "Ticket", "version": 1,
  "fields": [
    {"id": 1, "name": "title", "type": "text"},
    {"id": 1, "name": "owner", "type": "text"}
  ]
}`), nil)
	fmt.Println(err)
	// Output:
	// rejected by schema.field-id at $.fields[1].id (byte 109): got id 1, which field title has at line 5, column 12, want an id of its own; give the field an id no field ever had
}
