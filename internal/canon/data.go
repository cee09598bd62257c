package canon

// Data is a schema-less value in binary form whose text and keys are verbatim: tool arguments, results, event data. Nil
// is no value at all, which is not null.
type Data []byte
