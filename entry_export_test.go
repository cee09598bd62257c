package perdure

// Predicates are the rules that the page of them lists, see entry_predicates_test.go.
var Predicates = predicates()
